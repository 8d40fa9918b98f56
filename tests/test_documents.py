"""Documents that go with a package are there, and say what is so."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from collsim.simulate import event
from collsim.simulate.kernels import kernel_records

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


def test_what_is_generated_is_made_by_one_command_and_held_by_a_test():
    """Whatever writes a page has a test that makes the page again and compares; the test names it."""
    recipe = re.search(r"^docs:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    makers = {path.name for path in (ROOT / "docs").glob("make_*.py")}
    assert makers == set(re.findall(r"docs/(make_\w+\.py)", recipe))
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert {name for name in makers if any(name.removesuffix(".py") in text for text in tests)} == makers


def commands_of(target):
    """What make would run for a target, from a shell that no other make started."""
    shell = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "SELECTED"}
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, env=shell, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_check_leaves_out_the_slow_tests_only_and_check_all_leaves_out_none():
    selections = {
        target: re.findall(r'(lowest\.py|-m pytest).* -m "(.*)"', commands_of(target))
        for target in ("check", "check-all")
    }
    assert sorted(selections["check"]) == [("-m pytest", "not slow"), ("lowest.py", "not slow")]
    assert sorted(selections["check-all"]) == [("-m pytest", ""), ("lowest.py", "")]


def test_the_workflow_runs_what_ci_runs():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["check"]["steps"]
    assert steps[-1]["run"] == "bash .ci/run"


def extras_asked(text):
    """Extras of every `.[a,b]` in a text; each must be one of the project's."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = [extra for group in re.findall(r"\.\[([\w,]+)\]", text) for extra in group.split(",")]
    assert found
    assert set(found) <= set(known), found
    return set(found)


def test_notebooks_open_with_what_they_need_from_make_in_a_container_and_on_binder():
    recipe = re.search(r"^notebooks: .venv/app.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    binder = {path.name: path.read_text() for path in (ROOT / ".binder").iterdir()}
    for text in (recipe, container["postCreateCommand"], binder["requirements.txt"]):
        assert extras_asked(text) == {"app", "notebook"}
    assert "jupyter lab notebooks" in recipe
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"jupyterlab", "ipykernel"} <= {re.split(r"[<>=]", one)[0] for one in extras["notebook"]}


def test_the_container_and_binder_have_the_oldest_python_that_is_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = project["requires-python"].removeprefix(">=")
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["image"].endswith(f"/python:{least}")
    assert (ROOT / ".binder" / "runtime.txt").read_text() == f"python-{least}\n"
    assert {str(port) for port in container["forwardPorts"]} == set(container["portsAttributes"]) >= {"8501"}
    packages = (ROOT / ".binder" / "apt.txt").read_text().split()
    assert set(packages) <= set((ROOT / ".ci" / "run").read_text().replace("(", " ").replace(")", " ").split())


def test_the_citation_names_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["license"] == project["license"]
    assert cited["title"].startswith(project["name"])
    assert cited["cff-version"] == "1.2.0"


def test_the_limits_in_the_security_page_are_those_of_the_server():
    from collsim.app.jobs.computation import SHORT
    from collsim.app.jobs.worker_pool import MAX_JOBS, MAX_PER_CLIENT
    from collsim.app.server import connections
    from collsim.app.server.client_usage import HALF_LIFE, TIMES_THE_MEAN
    from collsim.app.server.clients import LONGEST_DELAY, ClientLimits
    from collsim.app.server.message_filter import LIMITS
    from collsim.app.server.rerun_queue import BUDGET, HEAVY_PATIENCE, PATIENCE, REST, SLOTS

    limits, text = ClientLimits(), (ROOT / "SECURITY.md").read_text()
    assert (limits.heavy_messages_per_page * limits.pages, REST, HALF_LIFE, TIMES_THE_MEAN) == (0.5, 2.0, 60.0, 1.5)
    runs, files = LIMITS["rerun_script"], LIMITS["file_urls_request"]
    assert all(limit.nbytes == 16 for limit in LIMITS.values() if limit not in (runs, files))
    upload = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]["maxUploadSize"]
    for row in (
        f"| connections | {limits.pages * connections.CONNECTIONS_PER_PAGE} |",
        f"| {connections.HEAD_BYTES >> 10} KiB, within {connections.HEAD_SECONDS:g} s; "
        f"{connections.PIPELINED_REQUESTS} requests in one connection",
        f"| {connections.FRAMES_PER_MESSAGE} a message, {connections.WAITING_MESSAGES} messages that the app has not read, "
        f"{connections.CONTROL_BURST} pings and pongs at once and one a second |",
        f"| {limits.requests_per_page * limits.pages:g} per second, "
        f"{limits.requests_at_once_per_page * limits.pages:,} at once | | they wait, at most {LONGEST_DELAY:g} s; ",
        f"| {limits.openings_per_page * limits.pages:g} a minute, {2 * limits.pages} at once |",
        f"| pages open | {limits.pages} | {limits.pages_in_all} |",
        f"| {limits.messages_per_page * limits.pages:g} per second, {limits.messages_at_once_per_page * limits.pages} at once; "
        f"1 in two seconds beyond the budget | {limits.messages_in_all:g} per second |",
        f"| 1 | {SLOTS} | they wait, at most {PATIENCE:g} s; ",
        f"| {BUDGET:g} (what was used a minute ago counts half)",
        f"one that waits for {HEAVY_PATIENCE:g} s is refused",
        f"| {MAX_PER_CLIENT} | {MAX_JOBS}, two of up to {SHORT:g} s ",
        f"| {upload} MB a file, {limits.upload_bytes >> 20} MiB at a time | {limits.upload_bytes_in_all >> 20} MiB |",
        f"| {runs.nbytes >> 10} KiB and {runs.fields:,} fields to run the page again; "
        f"{files.nbytes >> 10} KiB and {files.fields} fields to ask where files go; 16 bytes of any other type |",
        f"| {limits.wrong_codes} a minute, {limits.wrong_codes_of_browser} of one browser | {limits.wrong_codes_in_all} ",
    ):
        assert row in text, row


@pytest.mark.parametrize("page", ["where.md", "where.zh.md"])
def test_every_file_that_the_page_of_places_names_is_there(page):
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    missing = [name for name in names if not (ROOT / name).exists()]
    assert len(names) >= 180
    assert missing == []


def test_the_limits_that_the_design_names_are_those_of_the_code():
    from collsim import limits
    from collsim.app.jobs import worker_pool
    from collsim.app.scenario import custom_machine
    from collsim.app.shell import results

    text = " ".join((ROOT / "docs" / "design.md").read_text(encoding="utf-8").split())
    assert "4 GiB from Python, 512 MiB from a file, 16 MiB on a page of the app" in text
    assert (limits.MEMORY, limits.FILE_MEMORY, custom_machine.MAX_MEMORY) == (4 * 2**30, 512 * 2**20, 16 * 2**20)
    assert "(over about 1.5 s as `expected_cost` predicts)" in text
    assert "A page that waits checks it every 0.4 s." in text
    assert "does not check for 15 s counts as closed; while its tab is connected, 75 s" in text
    assert (results.ON_THE_SPOT, results.GLANCE, worker_pool.PATIENCE, worker_pool.HIDDEN_PATIENCE) == (
        1.5,
        0.4,
        15.0,
        75.0,
    )


def test_the_sizes_of_files_that_the_page_of_formats_names_are_those_that_are_read():
    from collsim import files
    from collsim.io import collsim_csv

    text = " ".join((ROOT / "docs" / "formats.md").read_text(encoding="utf-8").split())
    assert "A file has at most 64 MiB" in text
    assert files.MAX_BYTES == 64 * 2**20
    assert "XML has at most two million elements" in text
    assert files.MAX_ELEMENTS == 2_000_000
    assert "CSV has at most ten million rows" in text
    assert collsim_csv._MAX_ROWS == 10_000_000


def test_the_design_names_the_search_that_compare_makes():
    import collsim as cs

    text = " ".join((ROOT / "docs" / "design.md").read_text(encoding="utf-8").split())
    assert "one channel with one chunk and all channels with 1 to 256 chunks" in text
    said = cs.compare("allreduce", cs.machine("dgx-a100", nodes=2), "1MiB", algorithm=["allreduce_ring"]).attrs[
        "search"
    ]
    assert said == "1 × 1, 8 × {1, 4, 16, 64, 256}"


def test_counts_on_the_page_of_speeds_are_those_of_schedules_and_records():
    """Its times were measured by hand, as it says; its counts follow from the code."""
    import collsim as cs
    from collsim.simulate import event
    from collsim.simulate.kernels import kernel_records

    text = " ".join((ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split())
    assert "All other figures were measured by hand, once, on the day" in text

    def rows(name, n):
        return sum(len(step) for step in cs.schedule(name, ranks=n).patterns)

    n, million = 2**20, 1e6
    said = {
        "ring allreduce, 1,024 ranks (2,095,104 transfers)": len(cs.schedule("allreduce_ring", ranks=1024)),
        "ring, 4,096 ranks, 33.5 million transfers": len(cs.schedule("allreduce_ring", ranks=4096)),
        "33.5 million rows of 4,096 ranks are 98,304": rows("allreduce_halving_doubling", 4096),
        "all-to-all of 256 ranks at once, 65,536 transfers": len(cs.schedule("alltoall_direct", ranks=256)),
        "A transfer needs 32 bytes in program order": kernel_records.ROW.itemsize,
        "A seat of a flow under way is 64 bytes": kernel_records.SEAT.itemsize,
        "`progress=` is called every 200,000 transfers": event._SLICE,
    }
    assert [sentence for sentence in said if sentence not in text] == []
    assert list(said.values()) == [2_095_104, 33_546_240, 98_304, 65_536, 32, 64, 200_000]
    # of a million ranks: 2 log2 n steps of halving and doubling, log2 n of doubling, n each; 2 (n-1) of the ring
    assert rows("allreduce_halving_doubling", 1024) == 2 * 1024 * 10
    assert len(cs.schedule("allreduce_recursive_doubling", ranks=1024)) == 1024 * 10
    assert "2.2 × 10¹² in 42 million rows" in text
    assert (round(2 * n * 20 / million), round(n * 20 / million), round(2 * (n - 1) * n / 1e11)) == (42, 21, 22)


def test_the_limits_that_the_page_of_speeds_names_are_those_of_the_app():
    from collsim.app.jobs import computation, result_cache, worker_pool
    from collsim.app.scenario import outcome, run_files

    text = " ".join((ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split())
    assert "at most 96 MiB for all sessions together" in text
    assert "texts of more than 4 MiB are handed over zipped" in text
    assert "runs of more than a million transfers are refused" in text
    assert "Two workers do what takes up to 4 s and two what takes longer" in text
    assert (result_cache.CACHE_BYTES, run_files._PLAIN, outcome.MAX_TRANSFERS) == (96 * 2**20, 4 * 2**20, 1_000_000)
    assert (computation.SHORT, worker_pool.QUEUES[:2]) == (4.0, ("short", "long"))


def test_the_page_on_performance_says_how_many_bytes_a_transfer_needs():
    """What the event engine counts with before it refuses a run, and the row that it really makes."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    row, more = map(int, re.search(r"A transfer needs (\d+) bytes in program order and (\d+) more", page).groups())
    assert (row, more) == (event._ROW_BYTES, event._GATE_BYTES)
    assert row == kernel_records.ROW.itemsize


def test_a_source_file_that_a_page_names_exists():
    """Files are renamed more often than pages are read."""
    others = {"topologies.py", "x.py", "mine.py", "src/config.py"}  # of ForestColl; of examples
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = {f"/{name}" for name in listed.splitlines()}
    named = {
        (name, page.relative_to(ROOT).as_posix())
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        for name in re.findall(r"`([\w/.-]*\w\.(?:py|toml|js|mjs))`", page.read_text(encoding="utf-8"))
        if name not in others
    }
    assert len(named) > 100
    assert [(name, page) for name, page in sorted(named) if not any(file.endswith(f"/{name}") for file in files)] == []
