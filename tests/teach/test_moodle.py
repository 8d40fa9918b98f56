"""Questions for Moodle: the structure that its importer reads (moodle/question/format/xml/format.php), the same
answers as `Question.check`, and nothing of a stranger's that becomes markup."""

import base64
import re
from xml.etree import ElementTree

import pytest

import collsim as cs
from collsim.site import write_worksheet
from collsim.teach.quiz.moodle import UNITS, write_moodle_xml
from collsim.teach.quiz.question import Alternative, Question

TRACE = cs.simulate(cs.schedule("allreduce_ring", ranks=8), cs.topology.switch(8, bandwidth="25GB/s"), "64MiB")
#: What the importer reads of each type: import_headers, import_multichoice, import_numerical.
HEADERS = {"name", "questiontext", "generalfeedback", "defaultgrade", "penalty", "hidden"}
TAGS = {
    "multichoice": HEADERS | {"single", "shuffleanswers", "answernumbering", "answer"},
    "numerical": HEADERS | {"answer", "units", "unitgradingtype", "unitpenalty", "showunits", "unitsleft"},
}


def parse_questions(text):
    """The questions in a bank, after its category."""
    quiz = ElementTree.fromstring(text.encode())
    assert quiz.tag == "quiz"
    first, *others = quiz
    assert first.attrib == {"type": "category"}
    assert first.findtext("category/text").startswith("$course$/top/")
    return others


@pytest.fixture(scope="module", params=["en", "zh"])
def bank(request):
    asked = cs.teach.questions(TRACE, seed=1, count=14, language=request.param)
    return asked, parse_questions(
        write_moodle_xml(asked, "collsim", ["a fact"], "rank 0  +1←1", {"machine.png": b"\x89PNG"})
    )


def test_every_question_has_the_tags_that_the_importer_reads_and_no_others(bank):
    asked, made = bank
    assert len(asked) == len(made) == 14
    assert {one.attrib["type"] for one in made} == set(TAGS)
    for one in made:
        kind = one.attrib["type"]
        assert {part.tag for part in one} <= TAGS[kind]
        assert TAGS[kind] - {part.tag for part in one} <= {"units"}
        assert one.findtext("name/text").strip()
        for formatted in [*one.iter("questiontext"), *one.iter("generalfeedback"), *one.iter("feedback")]:
            assert formatted.attrib["format"] == "html"
            assert formatted.findtext("text")


def test_exactly_the_right_choice_is_worth_everything(bank):
    for question, one in zip(*bank, strict=True):
        if question.kind == "number":
            continue
        answers = one.findall("answer")
        assert [a.attrib["fraction"] for a in answers].count("100") == 1
        right = next(a for a in answers if a.attrib["fraction"] == "100")
        text = ElementTree.fromstring(f"<p>{right.findtext('text')}</p>").text
        assert question.check(text.replace("\N{NO-BREAK SPACE}", " "))
        assert len(answers) == len(question.options)
        assert one.findtext("single") == "true"


def graded(one, response):
    """As Moodle does it: a number and perhaps a unit, divided by the unit's multiplier, within the tolerance."""
    number, unit = re.fullmatch(r"([\d.eE+-]+)\s*(.*)", response).groups()
    units = {u.findtext("unit_name"): float(u.findtext("multiplier")) for u in one.findall("units/unit")}
    value = float(number) / (units[unit] if unit else 1)
    answer = one.find("answer")
    right, off = float(answer.findtext("text")), float(answer.findtext("tolerance"))
    return right - off - 1e-9 * abs(right) <= value <= right + off + 1e-9 * abs(right)


def test_moodle_grades_a_number_as_collsim_does_whatever_unit_it_is_written_in(bank):
    seen = set()
    for question, one in zip(*bank, strict=True):
        if question.kind != "number":
            continue
        names = UNITS.get(question.unit, {"": 1})
        for name, multiplier in names.items():
            for by in (1.0, 0.9, 1.01, 1.03):
                response = f"{question.answer * multiplier * by:.12g} {name}".strip()
                assert graded(one, response) == bool(question.check(response)), (question.text, response)
                seen.add((question.unit, by, graded(one, response)))
        assert one.findtext("showunits") == ("0" if question.unit in UNITS else "3")
    assert {right for _, _, right in seen} == {True, False}


def test_what_is_given_stands_above_every_question_with_its_picture(bank):
    for one in bank[1]:
        text = one.findtext("questiontext/text")
        assert "<li>a fact</li>" in text
        assert "<pre>rank 0  +1←1</pre>" in text
        assert 'src="@@PLUGINFILE@@/machine.png"' in text
        file = one.find("questiontext/file")
        assert file.attrib == {"name": "machine.png", "path": "/", "encoding": "base64"}
        assert base64.b64decode(file.text) == b"\x89PNG"


def test_a_worksheet_for_moodle_is_one_file_with_a_picture(tmp_path):
    path, same = write_worksheet(TRACE, tmp_path / "bank.xml", count=3)
    assert path == same
    assert [p.name for p in tmp_path.iterdir()] == ["bank.xml"]
    made = parse_questions(path.read_text(encoding="utf-8"))
    assert len(made) == 3
    assert base64.b64decode(made[0].findtext("questiontext/file")).startswith(b"\x89PNG")
    assert path.stat().st_size < 500_000


def test_names_of_a_stranger_are_text_and_the_file_stays_well_formed():
    evil = "</text><script>alert(1)</script>\x00\x0b]]>&"
    text = (evil, evil)
    one = Question("choice", "x", text, text, 0, choices=(Alternative(text, text), Alternative(("b", "b"), text)))
    (made,) = parse_questions(write_moodle_xml([one], f"a{evil}", [evil], evil))
    shown = made.findtext("questiontext/text")
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "\x00" not in shown
