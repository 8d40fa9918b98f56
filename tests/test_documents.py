"""Documents that go with a package are there, and say what is so."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def licences():
    spec = importlib.util.spec_from_file_location("make_licences", ROOT / "docs" / "make_licences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_licences_lists_every_declared_dependency_with_its_bound_and_a_licence(licences):
    text = licences.PAGE.read_text(encoding="utf-8")
    listed = [line.rsplit("|", 2) for line in text.splitlines() if line.startswith("| ") and " licence " not in line]
    assert [row for row, _, _ in listed] == [line.rsplit("|", 2)[0] for line in licences.rows(text)]
    assert all(cell.strip() for _, cell, _ in listed), "run make docs"
    assert len(listed) == len(licences.declared())


def test_licences_of_the_core_and_the_app_ask_nothing_of_who_uses_them(licences):
    """No copyleft among what pip brings along with collsim and its app."""
    for name, (_, rooms) in licences.declared().items():
        if {"collsim", "app"} & set(rooms):
            assert licences.licence(name), name
            assert not re.search(r"\b(A?GPL|LGPL)\b", licences.licence(name)), name


def test_pre_commit_runs_what_make_lint_runs():
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    made = [line.strip().replace("$(PYTHON)", ".venv/bin/python") for line in recipe.splitlines()]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == made


def test_the_workflow_runs_what_ci_runs():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["check"]["steps"]
    assert steps[-1]["run"] == "bash .ci/run"


def test_the_citation_names_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["license"] == project["license"]
    assert cited["title"].startswith(project["name"])
    assert cited["cff-version"] == "1.2.0"


def test_the_limits_in_the_security_page_are_those_of_the_server():
    from collsim.app.jobs.pool import MOST_EACH, MOST_JOBS
    from collsim.app.server.clients import ClientLimits

    limits, text = ClientLimits(), (ROOT / "SECURITY.md").read_text()
    upload = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]["maxUploadSize"]
    for row in (
        f"| pages open | {limits.tabs} | {limits.all} |",
        f"| {limits.reruns * limits.tabs:g} per second, {limits.burst * limits.tabs} at once | {limits.reruns_in_all:g} ",
        f"| {MOST_EACH} | {MOST_JOBS}, ",
        f"| {upload} MB a file, {limits.upload_bytes >> 20} MiB at a time | {limits.upload_bytes_in_all >> 20} MiB |",
        f"| {limits.message_bytes >> 20} MiB |",
        f"| {limits.tries} a minute |",
    ):
        assert row in text, row


def test_every_file_that_the_page_of_places_names_is_there():
    page = (ROOT / "docs" / "where.md").read_text(encoding="utf-8")
    places = re.findall(r"^\|[^|]*\| `([^`]+)`", page, re.MULTILINE)
    assert len(places) >= 20
    assert not [place for place in places if not (ROOT / place).exists()]


def test_the_page_on_training_steps_runs_as_it_stands():
    """Its code, with the arguments that say `...` left out of what is run."""
    import collsim as cs

    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict = {}
    exec(compile(code, "docs/training.md", "exec"), names)
    assert names["t"].step.model is cs.model("resnet50")
