"""The search: designs tried on reference data only, their scores, and what is chosen.

`task` and `scenes` are what is asked; `score` judges designs, `optimise` finds the best one, and `executors`
say where that runs. `tuning` and `choice` say what is released of it, `public_map` what reference data alone
show, and `results` keeps what was found. `pilot` is what may be paid for before, `bench` what may be asked
after.
"""
