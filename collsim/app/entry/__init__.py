"""Where Streamlit enters: its script stands alone, as Streamlit takes a folder `pages/` beside a script for pages."""
