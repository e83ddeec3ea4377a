"""The search: designs tried on reference data only, their scores, and the choice.

`task` and `scenes` are the question; `score` judges designs, `optimise` finds the best one, and `executors`
say where that runs. `tuning` and `choice` say which design is released, `public_map` what reference
data alone show, and `results` keeps the designs. `pilot` is a paid look before, `bench` answers
questions after.
"""
