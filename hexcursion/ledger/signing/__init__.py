"""What keeps the ledger honest from outside its database: the key, the seals of releases, the witness."""
