"""The guest's screen."""

import streamlit as st

st.text("Guest stripes")
