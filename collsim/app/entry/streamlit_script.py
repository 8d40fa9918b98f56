"""The script that Streamlit runs for every page (`collsim.app.main`)."""

from collsim.app.main import main

main()
