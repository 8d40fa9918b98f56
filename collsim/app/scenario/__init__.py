"""What was asked for and what comes of it, as plain data. Nothing in this package knows Streamlit."""
