"""The neural process and its networks, beside the other mechanisms."""
