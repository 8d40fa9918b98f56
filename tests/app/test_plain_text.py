"""Texts of people are plain text on every page: no label, heading or message takes them for Markdown or HTML."""

import networkx as nx
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest
from test_pages import address, compare, explore, fine, opened
from test_question_panel import RUN, join_class

import collsim as cs
from collsim.app.classroom.question_card import get_class_sessions
from collsim.app.main import PAGES
from collsim.app.scenario.choice import Choice, read_file_fields, to_query
from collsim.app.server.clients import LOCAL

IMAGE, TAG = "![x](http://outside.test/a.png)", "<img src=http://outside.test/b.png>"
SHORT = "![y](q)"  # without a slash, at which pages shorten names
HOSTILE = f"{IMAGE} **b** :smile: {TAG} {SHORT}"
#: Fields that Streamlit shows as they are: what is typed, code, tables, options of menus, data of components.
PLAIN = {
    "text_area": {"default", "value"},
    "text_input": {"default", "value"},
    "code_block": {"code_text"},
    "code": {"code_text"},
    "selectbox": {"options", "raw_value"},
    "multiselect": {"options", "raw_values"},
    "bidi_component": None,
    "arrow_data_frame": None,
    "arrow_vega_lite_chart": None,
    "vega_lite_chart": None,
}


def machine():
    """A switch between GPUs whose names are all that a stranger may think of."""
    graph = nx.Graph()
    for k in range(4):
        graph.add_node(f"gpu{k} {HOSTILE}", kind="gpu")
        graph.add_edge(f"gpu{k} {HOSTILE}", f"sw {HOSTILE}", bandwidth="25GB/s", alpha="1us")
    graph.nodes[f"sw {HOSTILE}"]["kind"] = "switch"
    return cs.Topology.from_networkx(graph).to_yaml()


def strings(message, path=()):
    """All texts of a message, each with the names of the fields that it is in."""
    for field, value in message.ListFields():
        for one in value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]:
            if isinstance(one, Message):
                yield from strings(one, (*path, field.name))
            elif isinstance(one, str):
                yield (*path, field.name), one


def elements(block):
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from elements(child)
        yield child


def read_as_markup(at):
    """Texts on the page in which a browser would find an image."""
    found = []
    for one in (*elements(at.main), *elements(at.sidebar)):
        proto = getattr(one, "proto", None)
        if not isinstance(proto, Message):
            continue
        plain = PLAIN.get(one.type, set())
        for path, text in strings(proto) if plain is not None else ():
            markup = (TAG,) if one.type == "html" else (IMAGE, TAG, SHORT)
            if path[-1] not in plain and any(part in text for part in markup):
                found.append((one.type, path, text[:200]))
    return found


def whatif() -> None:
    from collsim.app.main import main

    main(first="whatif")


def machines() -> None:
    from collsim.app.main import main

    main(first="machines")


@pytest.mark.parametrize("page", [explore, compare, whatif, machines])
def test_names_in_a_machine_of_a_stranger_are_plain(page):
    query = to_query(Choice(nbytes="1MiB", sizes="1KiB:1MiB:32", **read_file_fields(machine())))
    names = {word.name for word in PAGES[page.__name__].words}
    at = fine(opened(page, **{name: value for name, value in query.items() if name in names}))
    assert read_as_markup(at) == []


def test_a_teachers_own_question_is_plain_on_the_pages_of_students_before_and_after_the_answer(sit_at):
    teacher = opened(**RUN, ask="1")
    teacher.button(key="ask_class").click().run()
    room = address(teacher)["class"]
    teacher.text_input(key="own_question_text").set_value(HOSTILE)
    teacher.text_area(key="own_question_lines").set_value(f"*{HOSTILE} 1\n{HOSTILE} 2")
    fine(teacher.button(key="own_question_ask").click().run())
    student = fine(join_class(room[:4]))
    for at in (teacher, student):
        assert read_as_markup(at) == []
        assert any(TAG.replace("<", "&lt;").replace(">", "&gt;") in e.proto.body for e in at.get("html"))
    teacher.button(key="class_reveal").click().run()
    for at in (teacher, student.run()):
        assert read_as_markup(at) == []
    get_class_sessions().close(room, LOCAL)


def test_the_test_finds_markup():
    def page() -> None:
        import streamlit as st

        image = "![x](http://outside.test/a.png)"
        st.button(image)
        with st.sidebar.expander(image):
            st.radio("a", [image])
        st.code(image)

    at = AppTest.from_function(page).run()
    assert sorted(kind for kind, _, _ in read_as_markup(at)) == ["button", "expander", "radio"]
