"""`streamlit run app.py`: the server and its door are in collsim/app/server, the pages in collsim/app."""

import streamlit as st

from collsim.app.entry import first_frame, ready
from collsim.app.server import PAGES, at_start, lifespan, middleware

at_start(ready.get_ready)
app = st.App(PAGES, lifespan=lifespan, middleware=middleware(first_frame.of))
