"""Where a larger call takes less time, as NCCL changes its choice, the comparison says so in both languages."""

from html import unescape

import pytest
from test_pages import compare, fine, opened

import collsim as cs
from collsim.display.markup import bind_units
from collsim.locale import LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_comparison_with_nccl_says_that_a_larger_call_takes_less_time(language):
    query = {"machine": "dgx-h100", "nodes": "4", "collective": "broadcast", "sizes": "1MiB:4MiB:4", "lang": language}
    at = fine(opened(compare, **query))
    at = fine(at.toggle(key="w_compare_nccl").set_value(True).run())
    text = unescape(" ".join(e.proto.body for e in at.get("html")))
    (sentence,) = cs.nccl.predict("broadcast", cs.machine("dgx-h100", nodes=4), "1MiB").faster_larger_calls
    assert text.count(bind_units(sentence.text(language))) == 1
