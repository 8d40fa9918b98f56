"""The story: one page to scroll, from a server that adds everything to a step of training."""

from __future__ import annotations

import json

import streamlit as st

from collsim.viz.hosts.bundle import read_bundle
from collsim.viz.story.story_document import encode_story

from ..shell.address import write_page_address
from ..shell.notes import complain
from ..shell.page import register_page
from ..shell.player import look
from ..shell.session import get_session

NAME = "story"
_STYLE = """<style>
[data-testid=stMainBlockContainer]:has(.st-key-story){padding-top:60px}
.st-key-story,.st-key-story>*{overflow:visible}
</style>"""


@register_page(NAME, 5)
def draw() -> None:
    """Draw the page; what a reader drags stays in the browser."""
    write_page_address()
    st.html(_STYLE)
    complain(get_session().complaints)
    mount = st.components.v2.component("collsim_story", js=read_bundle("story"))
    links = {name: f"{path}?lang={look()['language']}" for name, path in (("explore", "./"), ("lessons", "lessons"))}
    with st.container(key=NAME):
        mount(key="story_page", data={"story": json.loads(encode_story()), "links": links, **look()})
