"""Bounds: the registry, sensitivities, the certified suprema behind them, and the least noise they allow."""
