"""Bounds: the registry, sensitivities, certified suprema, and the least noise they allow."""
