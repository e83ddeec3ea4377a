"""Accounts: what a release costs, whom it is charged to, and the entries replayed into what is left."""
