"""The command line: the headless main job and the keeping of the ledger, from the functions the app calls."""

from hexcursion.cli.main import main

__all__ = ["main"]
