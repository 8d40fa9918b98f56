"""Words of lessons that point at the picture: each names something that the picture shows, in both languages."""

import html
import json
import re

import pytest

from collsim.lessons.chapters import SECTIONS
from collsim.lessons.pointing_words import PictureContents, list_picture_contents, mark_pointing_words
from collsim.locale import LANGUAGES

WORD = re.compile(r'<span class="cs-points" tabindex="0" data-lights="([^"]*)">([^<]*)</span>')
CONTENTS = PictureContents(8, 4, frozenset({"gpu", "pcie"}), frozenset({"pcie"}))


def list_words(text, contents=CONTENTS, language="en"):
    marked = mark_pointing_words(text, contents, language)
    plain = html.unescape(re.sub("<[^>]*>", "", marked)).replace("\N{NO-BREAK SPACE}", " ")
    assert plain == text.replace("\N{NO-BREAK SPACE}", " ")
    return [(word, json.loads(html.unescape(lights))) for lights, word in WORD.findall(marked)]


def test_ranks_chunks_and_devices_are_found_once_each_and_only_where_the_picture_shows_them():
    assert list_words("GPU 1 & rank 1 send chunk 3 to rank 9 over PCIe switches and NVLink.") == [
        ("GPU 1", {"ranks": [1]}),
        ("chunk 3", {"chunk": 3}),
        ("PCIe switches", {"devices": "pcie"}),
    ]
    assert list_words("128 ranks and 1,008 ranks, not 8 ranks; subrank 1, GPU 12") == [("8 ranks", {"ranks": "all"})]
    assert list_words("从 rank 0 到 GPU 1，经 PCIe 交换机", language="zh") == [
        ("rank 0", {"ranks": [0]}),
        ("GPU 1", {"ranks": [1]}),
        ("PCIe 交换机", {"devices": "pcie"}),
    ]


def test_markup_in_a_text_stays_text():
    assert "<b>" not in mark_pointing_words("<b>rank 0</b>", CONTENTS, "en")


def test_most_lessons_point_at_their_picture_and_at_the_same_things_in_both_languages():
    pointing = 0
    for _, section in SECTIONS.values():
        filled = section.fill_texts()
        contents = list_picture_contents(filled.trace, filled.view)
        for pair in filled.before:
            named = [
                {json.dumps(lights) for _, lights in list_words(text, contents, language)}
                for text, language in zip(pair, LANGUAGES, strict=True)
            ]
            pointing += bool(named[0] and named[0] == named[1])
    assert pointing >= 25


@pytest.mark.parametrize("name", ["inside", "between"])
def test_a_machine_is_named_by_its_parts(name):
    filled = SECTIONS[name][1].fill_texts()
    contents = list_picture_contents(filled.trace, filled.view)
    lights = [things for pair in filled.before for _, things in list_words(pair[0], contents)]
    wanted = {"inside": {"devices": "memory"}, "between": {"cables": "busiest"}}
    assert wanted[name] in lights
