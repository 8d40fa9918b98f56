"""What docs/howto/slow-job.md shows is what its commands print, and its table has every key of the document."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app

ROOT = Path(__file__).parents[2]
PAGES = ("slow-job.md", "slow-job.zh.md")


def read_page(name):
    return (ROOT / "docs" / "howto" / name).read_text(encoding="utf-8")


def list_commands(page):
    """Each command that a page shows, and what it shows below it."""
    blocks = re.findall(r"^```console\n\$ collsim (.*?)\n(.*?)^```", read_page(page), re.MULTILINE | re.DOTALL)
    return [(page, command, shown) for command, shown in blocks]


@pytest.mark.parametrize(("page", "command", "shown"), [shown for page in PAGES for shown in list_commands(page)])
def test_a_command_prints_what_the_page_shows(page, command, shown):
    with contextlib.chdir(ROOT):
        result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 1  # both have a finding
    assert result.output.rstrip() == shown.rstrip()


def test_both_pages_show_a_job_and_a_fleet():
    for page in PAGES:
        assert [command.split()[1] for _, command, _ in list_commands(page)] == [
            "examples/slow-job",
            "examples/health-check",
        ]


def list_keys(document, above=""):
    """Keys of a document, those of lists below the list's own."""
    if isinstance(document, list):
        return {key for item in document[:1] for key in list_keys(item, above)}
    if not isinstance(document, dict):
        return set()
    return {key for name, below in document.items() for key in {name} | list_keys(below, name)}


@pytest.mark.parametrize("page", PAGES)
def test_the_table_of_the_document_has_every_key_and_no_other(page):
    jobs = (
        cs.diagnose(ROOT / "examples" / "slow-job", model="gpt2"),
        cs.diagnose(cs.diagnosis.list_studied_cases()["slow_peers"].texts),
        cs.diagnose(cs.diagnosis.list_studied_cases()["acs"].texts),
    )
    keys = set().union(*(list_keys(json.loads(job.to_json())) for job in jobs))
    rows = re.findall(r"^\| (`.*)", read_page(page), re.MULTILINE)
    named = {
        part for row in rows for name in re.findall(r"`([\w.\[\]]+)`", row) for part in re.split(r"[.\[\]]+", name)
    }
    values = {"cause", "healthy", "undecided", "unknown", "log", "topology", "table"}
    assert keys <= named
    assert named - keys - values == set()
