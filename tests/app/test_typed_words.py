"""What is typed into a select box and is no option is answered in place, and the choice stays."""

from html import unescape

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1.element_tree import Selectbox
from test_pages import explore, fine, messages, opened


@pytest.fixture(scope="module")
def page():
    return fine(opened(explore, mode="full"))


def type_into(page, monkeypatch, key, text):
    """Run a page as after somebody typed a text into a box, which Streamlit's test cannot: it sends options alone."""
    usual = Selectbox._widget_state.fget

    def send(box):
        return WidgetState(id=box.id, string_value=text) if box.key == key else usual(box)

    with monkeypatch.context() as patch:
        patch.setattr(Selectbox, "_widget_state", property(send))
        page.run()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("dgx-h10", "did you mean 'dgx-h100'"),
        ("DistributedSampler", "the glossary: gives each rank its own part of the data set"),
        ("昇腾", "there is no machine with NPUs"),
        ("quux", "Unknown Machine or network"),
    ],
)
def test_a_word_that_is_no_option_is_answered(page, monkeypatch, typed, answer):
    type_into(page, monkeypatch, "w_place", typed)
    assert not page.exception
    (message,) = (unescape(message) for message in messages(page))
    assert typed in message
    assert answer in message
    assert page.selectbox(key="w_place").value == "dgx-a100"
    fine(page.run())
    assert messages(page) == []


def test_a_word_that_means_one_option_chooses_it(page, monkeypatch):
    type_into(page, monkeypatch, "w_place", "p4d.24xlarge")
    assert page.selectbox(key="w_place").value == "aws-p4d"
    assert messages(page) == []
