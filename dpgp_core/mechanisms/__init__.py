"""Mechanisms: here private records become something releasable; `registry` names each of them."""
