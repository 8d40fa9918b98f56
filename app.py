"""`streamlit run app.py`: the pages live in collsim/app."""

from collsim.app.main import main

main()
