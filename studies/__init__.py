"""The studies: every table and figure of the experiments, each from one function."""
