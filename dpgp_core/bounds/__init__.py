"""Bounds: the registry, the sensitivities and the certified suprema behind them."""
