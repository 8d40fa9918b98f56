"""Where a larger call takes less time, as NCCL changes its choice, the pages say so in both languages."""

from html import unescape

import pytest
from test_measured import dropped
from test_pages import compare, fine, opened

import collsim as cs
from collsim.display.markup import bind_units
from collsim.locale import LANGUAGES


def read_page(at):
    return unescape(" ".join(e.proto.body for e in at.get("html")))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_comparison_with_nccl_says_that_a_larger_call_takes_less_time(language):
    query = {"machine": "dgx-h100", "nodes": "4", "collective": "broadcast", "sizes": "1MiB:4MiB:4", "lang": language}
    at = fine(opened(compare, **query))
    at = fine(at.toggle(key="w_compare_nccl").set_value(True).run())
    text = read_page(at)
    (sentence,) = cs.nccl.predict("broadcast", cs.machine("dgx-h100", nodes=4), "1MiB").faster_larger_calls
    assert text.count(bind_units(sentence.text(language))) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_map_of_choices_of_a_measured_run_says_it(language):
    row = f"{2**20} {2**18} float none 0 120.0 8.74 8.74 0\n"
    at = dropped(row, machine="dgx-h100", nodes="4", collective="broadcast", lang=language)
    (sentence,) = cs.nccl.predict("broadcast", cs.machine("dgx-h100", nodes=4), "1MiB").faster_larger_calls
    assert read_page(at).count(bind_units(sentence.text(language))) == 1
