"""Audits: attacks on releases, the epsilon they prove, and the coverage of stated sets."""
