"""The README as printed: its Python runs in order and prints what stands below it, and its shell commands work on the
files in `examples/`. The Chinese one has the same code, and its pictures are of the film that is written today."""

import ast
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import make_film
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.viz.pictures.film import Film
from collsim.viz.timeline.timeline_document import build_timeline

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, text) for kind, text in FENCE.findall(README)]
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
LINES = [line for kind, text in BLOCKS if not kind for line in text.splitlines() if line.strip()]
COMMANDS = [line for line in LINES if line.startswith("collsim ")]
#: Lines of blocks that are not run here, and why. Commands within a sentence install or start a server: not run either.
SKIPPED = {
    "make app": "starts a server; tests/app and tests/browser do",
    "make check": "runs this file",
}
WRITTEN = {"sweep": "out.parquet", "convert": "schedule.json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A place with the files that the README names, and nothing else."""
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", place / "examples")
    with contextlib.chdir(place):
        yield place


#: Stands between what one block prints and what the next does.
BETWEEN = "---- next block"


def printed(program, folder):
    """What a program writes when it runs in a process of its own, as a reader's does."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return ran.stdout + ran.stderr


#: The block below the first Python block.
OUTPUT = BLOCKS[BLOCKS.index(("python", PYTHON[0])) + 1][1]


def test_every_line_of_a_block_is_run_or_named_as_skipped():
    assert [line for line in LINES if line not in COMMANDS and line not in OUTPUT.splitlines()] == list(SKIPPED)
    assert {kind for kind, _ in BLOCKS} == {"", "python"}
    assert len(COMMANDS) >= 9
    assert len(PYTHON) == 2


def test_the_python_blocks_run_in_order_and_say_what_stands_next_to_them(folder):
    asked = "print(two.ranks, s.channels, t.gap >= 1, t.nbytes == 2**28)"
    said = printed(f"\nprint({BETWEEN!r})\n".join((*PYTHON, asked)), folder).split(BETWEEN + "\n")
    assert len(said) == 3, said
    assert [line.rstrip() for line in said[0].splitlines()] == OUTPUT.splitlines()
    assert "busy" in said[1]  # print(t.bottleneck)
    assert said[2] == "16 8 True True\n"
    assert (folder / "ring.html").stat().st_size > 0


def test_the_error_that_is_quoted_appears_when_the_step_that_is_named_is_left_out(folder):
    (said,) = (" ".join(one.split()) for one in re.findall(r"`(after the last step [^`]*)`", README))
    (change,) = re.findall(r"Leave out the first step \(`(range[^`]*)`", README)
    assert f"my_ring(4): {said}." in printed(PYTHON[0].replace("range(n - 1)", change, 1), folder)


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.split("#")[0].strip()[:60])
def test_every_shell_command_works_as_printed(line, folder):
    words = shlex.split(line, comments=True)[1:]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert done.output.strip()
    if words[0] in WRITTEN:
        assert (folder / WRITTEN[words[0]]).stat().st_size > 0


def test_the_examples_are_what_the_readme_shows_and_all_of_them_are_named():
    held = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert {name for name in held if f"examples/{name}" in README} == held
    bodies = [
        ast.dump(next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)))
        for text in (PYTHON[0], (ROOT / "examples" / "my.py").read_text(encoding="utf-8"))
    ]
    assert bodies[0] == bodies[1]


def test_the_example_in_msccl_is_a_ring_that_keeps_its_promise():
    schedule = cs.load(ROOT / "examples" / "algorithm.xml")
    cs.verify(schedule)
    assert (schedule.ranks, schedule.steps) == (4, 6)


# ---- the same in Chinese -------------------------------------------------------------------------------------------


def without_comments(text):
    """The blocks of a README as they run: comments are in the language of the page."""
    found = FENCE.findall(text)
    return [(kind, [line.split("  #")[0].rstrip() for line in block.splitlines()]) for kind, block in found]


def test_the_chinese_readme_has_the_same_code_sections_and_tables():
    assert without_comments(CHINESE) == without_comments(README)
    for mark in ("## ", "|", "![", "`after the last step", "`range("):
        assert [line.startswith(mark) for line in CHINESE.splitlines()].count(True) == [
            line.startswith(mark) for line in README.splitlines()
        ].count(True), mark
    quoted = [re.findall(r"`(after the last step [^`]*)`", text) for text in (README, CHINESE)]
    assert quoted[0] == quoted[1] != []
    in_sentences = [set(re.findall(r"`([^`\n]+)`", text)) for text in (README, CHINESE)]
    assert in_sentences[0] - in_sentences[1] <= {"notebooks/"}, "what the English one names in code"


@pytest.mark.parametrize("text", [README, CHINESE], ids=["en", "zh"])
def test_every_file_that_a_readme_links_is_there(text):
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(targets) > 20
    assert [name for name in targets if not (ROOT / name).is_file()] == []


def test_the_chinese_readme_links_the_chinese_page_where_there_is_one():
    targets = re.findall(r"\]\((docs/[^)]+\.md)\)", CHINESE)
    assert [name for name in targets if ".zh." not in name and (ROOT / name).with_suffix(".zh.md").exists()] == []


@pytest.mark.parametrize("language", make_film.FILES)
def test_the_animated_picture_is_what_the_film_writer_makes(language):
    file = make_film.FILES[language]
    assert f"](docs/{file.name})" in {"en": README, "zh": CHINESE}[language]
    assert file.stat().st_size < 1.5e6
    film = Film.from_timeline(build_timeline(make_film.trace(), inside=False), language)
    with Image.open(file) as kept:
        assert kept.n_frames == make_film.FRAMES
        for number in (0, make_film.FRAMES // 2, make_film.FRAMES - 1):
            kept.seek(number)
            made = film.render_frame(film.time * number / (make_film.FRAMES - 1))
            assert kept.size == made.size
            off = np.abs(np.asarray(kept.convert("RGB"), float) - np.asarray(made.convert("RGB"), float)).max(axis=2)
            assert (off > 96).mean() < 0.01  # letters of another font are less; eight pictures too late is more


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_who_starts_the_app_by_make_installs_nothing_of_the_tests(tmp_path):
    """And who has both installed does not wait for the app's part again."""
    for name in ("Makefile", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    lines = {
        goal: subprocess.run(["make", "-n", goal], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for goal in ("app", "class", "install")
    }
    assert "'.[app]'" in lines["app"]
    assert "dev" not in lines["app"] + lines["class"]
    assert "'.[app,dev]'" in lines["install"]
    assert "touch .venv/app .venv/ready" in lines["install"]
