"""Help: the idea in three pictures, the guarantee in plain words, and every symbol with its name."""

from __future__ import annotations

import streamlit as st

st.info("x")
