"""The search: designs tried on reference data only, their scores, and what is chosen.

`task` and `scenes` are what is asked, `optimise` finds the best design (`executors` say where it runs),
`tuning` and `choice` say what is released of it; `pilot` is what may be paid for before, `bench` what may be
asked of a design after.
"""
