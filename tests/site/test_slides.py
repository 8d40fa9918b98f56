"""Slides of the lessons: what the lessons say, no answer before its question, nothing of elsewhere."""

import base64
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.display.markup import escape_text
from collsim.lessons.chapters import LESSONS
from collsim.site import slides, write_slides

VOID = {"meta", "img"}


class Read(HTMLParser):
    """The text of every slide; a tag that is not closed is an error."""

    def __init__(self, text):
        super().__init__()
        self.slides, self.open, self.tags = [], [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.slides.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "section" in self.open:
            self.slides[-1] += data.replace("\N{NO-BREAK SPACE}", " ") + " "


@pytest.fixture(scope="module", params=["en", "zh"])
def deck(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("slides") / "slides.html"
    made = write_slides(path, [3], request.param)
    return request.param, made, path.read_text(encoding="utf-8")


def test_every_text_of_a_lesson_is_on_a_slide_and_the_answer_comes_after_its_question(deck):
    language, made, text = deck
    k, lesson = ("en", "zh").index(language), LESSONS[3]
    slides = Read(text).slides
    assert len(slides) == made.slides == text.count('class="slide')
    assert lesson.title[k] in slides[0]
    for section in lesson.sections:
        told = section.fill_texts()
        asked = next(i for i, slide in enumerate(slides) if told.question.ask[k] in slide)
        for one in told.question.choices:
            assert one.text[k] in slides[asked]
            assert one.reason[k] in slides[asked + 1]
            assert one.reason[k] not in slides[asked]
        assert told.question.explanation[k] in slides[asked + 1]
        assert all(text[k] in slides[asked - 2] for text in told.before), "then the machine, then the question"
        assert all(text[k] in slides[asked + 2] for text in told.after)
        table = asked + 3 + bool(told.after)  # behind the picture of the run
        assert all(cell[k] in slides[table] for row in told.table for cell in row)
        for early in slides[: asked + 1]:
            assert told.question.explanation[k] not in early
    assert all(name in slides[-1] for name in (lesson.notebook, *lesson.exercises))


def test_the_right_choice_alone_is_marked_and_only_after_the_question(deck):
    language, _, text = deck
    k = ("en", "zh").index(language)
    for section in LESSONS[3].sections:
        question = section.fill_texts().question
        right = escape_text(question.choices[int(question.answer)].text[k])
        assert text.count(f"<span class=right>{right}</span>") == 1
    assert text.count("class=right>") == len(LESSONS[3].sections)


def test_the_machine_is_shown_before_and_the_run_after_the_question(deck):
    """The picture of the run says its time and its bottleneck."""
    pictures = re.findall(r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)">', deck[2])
    assert len(pictures) == 2 * len(LESSONS[3].sections)
    assert pictures[0][0] == "ring(8)"
    assert "allreduce_ring" in pictures[1][0]
    assert all(base64.b64decode(data).startswith(b"\x89PNG") for _, data in pictures)


def test_a_picture_has_a_slide_to_itself_so_that_its_letters_are_large(deck):
    for body in re.findall("<section[^>]*>(.*?)</section>", deck[2]):
        assert "<img" not in body or "<p" not in body


def test_slides_have_no_script_and_ask_nothing_of_the_network(deck):
    assert "script" not in Read(deck[2]).tags
    assert "default-src 'none'" in unescape(deck[2])
    assert not re.findall(r'(?:src|href)="(?!data:)', deck[2])


def test_lessons_come_in_the_order_that_is_asked_for(tmp_path):
    done = CliRunner().invoke(app, ["slides", str(tmp_path / "x.html"), "--lesson", "2", "--lesson", "1"])
    assert done.exit_code == 0, done.output
    slides = Read((tmp_path / "x.html").read_text(encoding="utf-8")).slides
    titles = [k for k, slide in enumerate(slides) if re.match(r"\d+\. ", slide)]
    assert [slides[k][0] for k in titles] == ["2", "1"]
    assert f"{len(slides)} slides of 2 lessons" in done.output


def test_a_folder_that_is_not_there_is_said_before_any_lesson_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("collsim.site.slides._build_lesson", lambda *given: pytest.fail("told"))
    with pytest.raises(cs.CollsimError, match="there is no folder"):
        write_slides(tmp_path / "nowhere" / "x.html")


@pytest.mark.parametrize(
    ("out", "lessons", "language", "why"),
    [
        ("x.pdf", [1], "en", r"suffix must be \.html"),
        ("x.html", [99], "en", "no lesson 99; there are 1 to"),
        ("x.html", 3, "en", r"lessons=3 must be a list of numbers"),
        ("x.html", "3", "en", r"lessons='3' must be a list of numbers"),
        ("x.html", [[1]], "en", r"no lesson \[1\]; there are 1 to"),
        ("x.html", [True], "en", "no lesson True"),
        ("x\0.html", [1], "en", "zero byte"),
        ("x.html", [1], "de", "unknown language 'de'"),
    ],
)
def test_mistakes_are_sentences_and_nothing_is_written(tmp_path, out, lessons, language, why):
    with pytest.raises(cs.CollsimError, match=why):
        write_slides(tmp_path / out, lessons, language)
    assert list(tmp_path.iterdir()) == []


def test_slides_that_cannot_be_written_are_refused_before_a_lesson_is_run(monkeypatch):
    monkeypatch.setattr(slides, "_build_lesson", lambda *_: pytest.fail("it ran"))
    with pytest.raises(cs.FormatError, match=r"cannot write '/proc/slides\.html'"):
        write_slides("/proc/slides.html")
