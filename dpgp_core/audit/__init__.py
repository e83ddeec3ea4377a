"""Audits: attacks on releases, the bounds on epsilon they prove, and how often stated sets are right."""
