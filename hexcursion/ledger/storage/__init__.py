"""Where the ledger lies: its rows, its tables, its database, and where each is looked for."""
