"""The privacy statement: its blocks, its schemas, and whether what it says is valid and true."""
