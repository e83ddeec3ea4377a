"""Released paths: the design of a release of paths, and what paths say of the field behind them."""
