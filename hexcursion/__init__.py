"""From files to a private excursion map, without a line of user interface.

The pages and the command line call the same functions here; nothing in this package imports Streamlit.
"""
