"""The screen 'publish'."""

from __future__ import annotations

import streamlit as st

st.info("This screen is not built yet.")
