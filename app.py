"""`streamlit run app.py`: the server and its door are in collsim/app/server, the pages in collsim/app."""

import streamlit as st

from collsim.app.server import PAGES, lifespan, middleware

app = st.App(PAGES, lifespan=lifespan, middleware=middleware())
