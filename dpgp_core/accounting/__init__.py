"""What releases cost together: composition, privacy-loss distributions, group privacy."""
