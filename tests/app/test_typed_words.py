"""What is typed into a box of options and is none is answered in place, and the choice stays: on every page."""

from html import unescape

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Multiselect, Selectbox
from test_files import unfolded
from test_pages import compare, explore, fine, messages, opened


@pytest.fixture(scope="module")
def page():
    return fine(opened(explore, mode="full"))


def type_into(page, monkeypatch, key, text):
    """Run a page as after somebody typed a text into a box, which Streamlit's test cannot: it sends options alone."""
    usual = {kind: kind._widget_state.fget for kind in (Selectbox, Multiselect)}

    def send(box):
        state = usual[type(box)](box)
        if box.key != key:
            return state
        if isinstance(box, Selectbox):
            return WidgetState(id=box.id, string_value=text)
        state.string_array_value.data.append(text)
        return state

    with monkeypatch.context() as patch:
        for kind in usual:
            patch.setattr(kind, "_widget_state", property(send))
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


def test_a_name_without_what_stands_beside_it_chooses_the_algorithm(page, monkeypatch):
    type_into(page, monkeypatch, "w_algorithm", "Tree")
    assert page.selectbox(key="w_algorithm").value == "allreduce_tree"
    assert messages(page) == []


def test_a_word_that_means_one_option_chooses_it(page, monkeypatch):
    type_into(page, monkeypatch, "w_place", "p4d.24xlarge")
    assert page.selectbox(key="w_place").value == "aws-p4d"
    assert messages(page) == []


def test_a_word_typed_into_a_list_of_several_is_answered_or_chosen(monkeypatch):
    page = fine(opened(compare))
    box = page.multiselect(key="w_algorithms")
    chosen = list(box.value)
    for typed, answer in (
        ("环形", "did you mean 'allreduce_ring'"),
        ("DistributedSampler", "the glossary: gives each"),
    ):
        type_into(page, monkeypatch, "w_algorithms", typed)
        assert not page.exception
        (message,) = (unescape(message) for message in messages(page))
        assert answer in message
        assert page.multiselect(key="w_algorithms").value == chosen
    type_into(page, monkeypatch, "w_algorithms", "BCUBE")
    assert messages(page) == []
    assert page.multiselect(key="w_algorithms").value == [*chosen, "allreduce_bcube"]


@pytest.mark.parametrize(
    ("name", "boxes"),
    [
        (
            "race",
            {
                "w_race_algorithms": ("p2p on or off", "Unknown Race"),
                "w_r_place1": ("昇腾", "there is no machine with NPUs"),
                "w_r_algorithm1": ("BS", "did you mean 'allreduce_parameter_server'"),
                "w_r_collective": ("点对点", ""),
            },
        ),
        (
            "write",
            {"w_where": ("dgx-h1000", "did you mean 'dgx-h100'"), "w_collective": ("DCU", "the glossary: a dev")},
        ),
    ],
)
def test_each_box_of_a_page_answers_what_is_typed(monkeypatch, name, boxes):
    page = AppTest.from_string(f"from collsim.app.main import main\nmain(first={name!r})", default_timeout=60)
    fine(page.run())
    for key, (typed, answer) in boxes.items():
        before = page.selectbox(key=key).value
        type_into(page, monkeypatch, key, typed)
        assert not page.exception
        if answer:
            assert [answer in unescape(message) for message in messages(page)] == [True], messages(page)
            assert page.selectbox(key=key).value == before
        else:
            assert messages(page) == []
            assert page.selectbox(key=key).value != before


def test_a_format_and_a_run_of_the_files_answer_what_is_typed(monkeypatch):
    page = AppTest.from_string("from collsim.app.main import main\nmain(first='race')", default_timeout=60)
    fine(unfolded(fine(page.run()), "files"))
    type_into(page, monkeypatch, "w_format", "LaTex")
    assert not page.exception
    assert [message for message in messages(page) if "LaTex" in message]
    type_into(page, monkeypatch, "w_f_of", page.selectbox(key="w_f_of").options[1].upper())
    assert page.selectbox(key="w_f_of").value == 1
