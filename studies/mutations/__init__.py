"""Mutation testing: what the tests notice when one small thing in the source is wrong.

Cosmic Ray (<https://cosmic-ray.readthedocs.io>) finds and makes the mutations; this package chooses among
them, runs the tests that reach each one in a copy of the checkout, and keeps the record.
"""
