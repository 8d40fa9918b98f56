"""What NCCL would do for registered buffers is named where the app shows its choice, in both languages, and only there."""

from html import unescape

import pytest
from test_measured import opened as open_measured
from test_pages import compare, fine, opened

import collsim as cs
from collsim.display.markup import bind_units
from collsim.locale import LANGUAGES


def page_text(at):
    return unescape(" ".join(e.proto.body for e in at.get("html")))


def open_comparison(machine, language, nodes="1"):
    query = {"machine": machine, "nodes": nodes, "collective": "allgather", "sizes": "1MiB:64MiB:64", "lang": language}
    at = fine(opened(compare, **query))
    assert "ncclCommWindowRegister" not in page_text(at)
    return fine(at.toggle(key="w_compare_nccl").set_value(True).run())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_comparison_with_nccl_names_symmetric_memory_and_copy_engines(language):
    text = page_text(open_comparison("dgx-h100", language))
    sentences = cs.nccl.predict("allgather", "dgx-h100", "1MiB").registered_buffers
    assert len(sentences) == 2
    assert all(text.count(sentence.text(language)) == 1 for sentence in sentences)
    assumptions = cs.nccl.predict("allgather", "dgx-h100", "64MiB").assumptions
    assert all(bind_units(sentence.text(language)) in text for sentence in assumptions)


def test_over_a_network_nothing_is_said_of_registered_buffers():
    assert "ncclCommWindowRegister" not in page_text(open_comparison("dgx-h100", "en", nodes="2"))


@pytest.mark.parametrize(("run", "named"), [("a100-8", True), ("rtx4090-8", False)])
def test_the_map_of_choices_of_a_published_run_names_them_where_nvlink_joins_all(run, named):
    assert ("ncclCommWindowRegister" in page_text(fine(open_measured(run=run)))) == named
