"""Designs in words: what they are, what they are expected to achieve, and settling on one."""
