"""One question, one answer: the ten of docs/howto/one-answer.md, asked in Python, on the command line and in the app,
give the digits that the page prints, in both languages."""

import json
import re
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages import compare
from collsim.app.pages.train import step_scenarios, training_choice
from collsim.app.scenario import outcome
from collsim.cli import app

PAGES = [Path(__file__).parents[1] / "docs" / "howto" / f"one-answer{language}.md" for language in (".zh", "")]
ROW = re.compile(
    r"^\| (?P<question>.+?) \| `(?P<code>.+?)` \| `(?P<command>.+?)` \| `(?P<field>\w+)` "
    r"\| \[\S+\]\((?P<address>\S+)\) \| \*\*(?P<answer>.+)\*\* \|$",
    re.MULTILINE,
)
TABLES = [[match.groupdict() for match in ROW.finditer(page.read_text(encoding="utf-8"))] for page in PAGES]


def run_command(row):
    """The field of the JSON that the command prints."""
    run = CliRunner().invoke(app, [*shlex.split(row["command"])[1:], "--json"])
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    return (document[0] if isinstance(document, list) else document)[row["field"]]


def open_page(row):
    """The figure that the page of an address shows."""
    address = urlsplit(row["address"])
    query = dict(parse_qsl(address.query))
    query.pop("lang", None)
    if address.path == "/train":
        choice, complaints = training_choice.ADDRESS.read(query)
        figures = step_scenarios.compute_step(choice).figures
    else:
        choice, complaints = outcome.read_choice(query)
        if address.path == "/compare":
            prediction = compare.predict_sizes(choice, cs.size_range(choice.sizes))[0]
            figures = {row["field"]: getattr(prediction, row["field"])}
        else:
            figures = vars(outcome.compute_outcome(choice).figures)
    assert complaints == []
    return figures[row["field"]]


def test_both_pages_ask_the_same_ten_questions():
    chinese, english = TABLES
    assert len(english) == 10
    for row, twin in zip(english, chinese, strict=True):
        assert {**twin, "address": twin["address"].removesuffix("&lang=zh"), "question": row["question"]} == row


@pytest.mark.parametrize("row", TABLES[1], ids=lambda row: row["question"])
def test_python_command_line_app_and_documentation_give_the_same_digits(row):
    in_python = eval(row["code"], {"cs": cs})
    assert cs.format_time(in_python) == row["answer"]
    assert run_command(row) == in_python
    assert open_page(row) == pytest.approx(in_python, rel=1e-12)
