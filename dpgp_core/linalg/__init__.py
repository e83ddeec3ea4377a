"""Linear algebra: banded Cholesky factors, and numerical failure said in one sentence."""
