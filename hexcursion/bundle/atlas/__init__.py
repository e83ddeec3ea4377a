"""The bundle of an atlas: one statement, one file of sums and one page for several columns."""
