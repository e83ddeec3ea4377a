"""Exactly rounded Gaussian noise on integers, so that a proof for real numbers holds on a real computer."""
