"""The story: one page to scroll, from a server that adds everything to a step of training."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import streamlit as st

from collsim.viz.story.story_document import NUMBERS, StoryNumbers, encode_story, evaluate_number

from ..scenario.address_parameters import PageAddress, Word
from ..scenario.choice import create_word_reader
from ..shell.address import finish_controls, get_remembered, remember
from ..shell.page import register_page
from ..shell.player import mount_bundle
from ..shell.session import get_language

NAME, _COMPONENT = "story", "story_page"
_STYLE = """<style>
[data-testid=stMainBlockContainer]:has(.st-key-story){padding-top:60px}
.st-key-story,.st-key-story>*{overflow:visible}
</style>"""


ADDRESS = PageAddress(StoryNumbers(), tuple(Word(name, create_word_reader(texts)) for name, texts in NUMBERS.items()))


@register_page(NAME, 5, address=ADDRESS)
def draw() -> None:
    """Draw the page; the numbers that a reader has dragged stand in the address."""
    st.html(_STYLE)
    finish_controls()
    links = {name: f"{path}?lang={get_language()}" for name, path in (("explore", "./"), ("lessons", "lessons"))}
    with st.container(key=NAME):
        numbers = {name: evaluate_number(name, text) for name, text in asdict(get_remembered(NAME)).items()}
        data = {"story": json.loads(encode_story()), "numbers": numbers, "links": links}
        mount_bundle("story", _COMPONENT, data, on_numbers_change=_on_numbers)


def _on_numbers() -> None:
    """A reader dragged a number. What the browser sends may be anything."""
    values = st.session_state[_COMPONENT].get("numbers")
    if not isinstance(values, dict):
        return
    texts = {
        name: text
        for name, texts in NUMBERS.items()
        for text in texts
        if values.get(name) == evaluate_number(name, text)
    }
    remember(NAME, replace(StoryNumbers(), **texts))
