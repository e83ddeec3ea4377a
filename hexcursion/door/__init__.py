"""The door: what a program gets from `import hexcursion`, and the one pipeline behind it."""
