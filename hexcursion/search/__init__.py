"""The search: designs tried on reference data only, their scores, and what is chosen.

`problem` is what is asked, `optimisation` what finds the best design (`executors` say where it runs),
`decision` what is released of it; `looks` are what may be paid for before, `exploration` what may be asked
of a design after.
"""
