"""The single files of a bundle: names and sizes, and how each is written and read again."""
