"""Reading a bundle without trust: every file checked, and every layer against the released paths."""
