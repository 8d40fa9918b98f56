"""A run of a page that ends before its end: what its controls began at reaches the browser all the same."""

import pytest
from streamlit.testing.v1 import AppTest

from collsim.app.pages.train import train as page

QUERY = {"model": "resnet18", "machine": "pcie-8gpu", "samples": "32", "p2p": "on", "gdr": "on"}


def train() -> None:
    from collsim.app.main import main

    main(first="train")


@pytest.fixture
def again(monkeypatch):
    """The first run of a page is overtaken by a second one behind its controls, as by a browser that says its theme;
    how often that happened."""
    import streamlit as st

    runs, draw = [], page.draw_controls

    def controls(choice):
        choice = draw(choice)
        runs.append(choice)
        if len(runs) == 1:
            page.finish_controls(choice)
            st.rerun()
        return choice

    monkeypatch.setattr(page, "draw_controls", controls)
    return runs


def opened():
    at = AppTest.from_function(train, default_timeout=90)
    for name, text in QUERY.items():
        at.query_params[name] = text
    return at.run()


def read_settings(at):
    """What the browser is told to set: by key, whether, and to what."""
    one, two = at.number_input(key="w_train_samples"), [at.toggle(key=f"w_{name}") for name in ("p2p", "gdr")]
    return [(one.proto.set_value, one.proto.value), *((each.proto.set_value, each.proto.value) for each in two)]


def test_controls_of_a_run_that_was_overtaken_are_set_again(again):
    at = opened()
    assert len(again) == 2
    assert not at.exception
    assert read_settings(at) == [(True, 32), (True, True), (True, True)]


def test_controls_of_a_run_that_came_to_its_end_are_not():
    at = opened()
    assert read_settings(at) == [(True, 32), (True, True), (True, True)]
    assert [whether for whether, _ in read_settings(at.run())] == [False] * 3
