"""`streamlit run app.py`: the server and its access control are in collsim/app/server, the pages in collsim/app."""

import streamlit as st

from collsim.app.entry import first_frame, ready
from collsim.app.server.startup import PAGES, build_middleware, register_startup, run_lifespan

register_startup(ready.get_ready)
app = st.App(PAGES, lifespan=run_lifespan, middleware=build_middleware(first_frame.build_first_frame))
