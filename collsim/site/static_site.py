"""Build the site: pages in two languages, the player, and a file per run, all relative, so that a USB stick will do.

A browser loads no data files over file://, so every run is a script that hands its packed text to the page.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..display.progress import open_progress
from ..errors import CollsimError, require_language, require_path
from ..files import name_write_errors
from ..lessons.chapters import SECTIONS
from ..lessons.lesson import FilledSection
from ..locale import LANGUAGES
from ..package_data import __version__
from ..simulate import Trace
from ..teach.quiz.question import Question
from ..teach.quiz.questions import questions
from ..viz.hosts.bundle import read_bundle
from ..viz.story.story_document import encode_story
from ..viz.timeline.timeline_document import build_timeline, dump_json
from . import pages
from .coefficients import build_coefficients
from .gallery import NETWORKS, GalleryNetwork, list_runs
from .pages import get_text

_QUESTIONS_PER_RUN = 5
_RACERS = ("allreduce_ring", "allreduce_double_binary_tree", "allreduce_parameter_server")
_MARK_FILE = "collsim-site.txt"
#: Writes one page: name of the file, title, body, data for its script.
Write = Callable[[str, str, str, dict[str, Any]], None]


@dataclass(frozen=True)
class Entry:
    """One run of the gallery as a page lists it.

    Attributes:
        key: of the run, as addresses have it.
        algorithm: its name.
        network: key of the gallery's network.
        ranks: number of them.
        time: s.
    """

    key: str
    algorithm: str
    network: str
    ranks: int
    time: float


@dataclass(frozen=True)
class Site:
    """What was built.

    Attributes:
        path: of the folder.
        runs: of the gallery.
        files: number of files.
        nbytes: bytes of all files.
    """

    path: Path
    runs: int
    files: int
    nbytes: int


def build_site(
    out: Path | str,
    languages: Sequence[str] = LANGUAGES,
    *,
    networks: Sequence[GalleryNetwork] = NETWORKS,
    only: Sequence[str] | None = None,
    progress: Callable[[int, str], None] | bool | None = None,
) -> Site:
    """Write the site into a folder, new or made by an earlier build; all of it or nothing.

    Args:
        out: the folder; one that holds anything else than a site is refused.
        languages: languages of the pages, `en` and `zh`.
        networks: the part of the gallery that is built.
        only: names of the algorithms that are built; all unless given.
        progress: True for a bar, or a function of (runs done, name of the run).

    Raises:
        CollsimError: For a folder that holds something else.
    """
    target = Path(os.path.realpath(require_path(out)))  # a link stays one
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / _MARK_FILE).is_file())):
        message = "{target!r} holds something that is not a site of collsim; give a new folder"
        raise CollsimError(message, target=str(target))
    for language in languages or [""]:
        require_language(language)
    with name_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".site-", dir=target.parent, ignore_cleanup_errors=True) as folder:
            work = Path(folder) / "site"
            with open_progress(progress, "runs", "runs done", "name of the run") as report_progress:
                runs = _write(work, languages, networks, only, report_progress)
            if target.exists():
                target.rename(Path(folder) / "before")
            work.rename(target)
        target.chmod(0o755)
    files = [p for p in target.rglob("*") if p.is_file()]
    return Site(target, runs, len(files), sum(p.stat().st_size for p in files))


def _write(
    work: Path,
    languages: Sequence[str],
    networks: Sequence[GalleryNetwork],
    only: Sequence[str] | None,
    report_progress: Callable[..., None] | None,
) -> int:
    for folder in ("assets", "runs", *languages):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "assets" / "site.js").write_text(read_bundle("site"), encoding="utf-8")
    (work / "assets" / "site.css").write_text(pages.read_style("site.css"), encoding="utf-8")
    (work / "index.html").write_text(pages.build_entrance(), encoding="utf-8")
    (work / _MARK_FILE).write_text("Built by `collsim site`; building again replaces this folder.\n", encoding="utf-8")
    entries = []
    for number, run in enumerate(list_runs(networks, only), 1):
        _write_run(work, run.key, run.trace, 1)
        schedule = run.trace.schedule
        entries.append(Entry(run.key, schedule.name, run.network.key, schedule.ranks, run.trace.time))
        if report_progress is not None:
            report_progress(number, run.key)
    if not entries:
        raise CollsimError("no run fits these networks and algorithms, so there is nothing to build")
    _write_packed(work, "choice", build_coefficients())
    lessons = {key: section.fill_texts() for key, (_, section) in SECTIONS.items()}
    for key, filled_section in lessons.items():
        _write_run(work, f"lesson--{key}", filled_section.trace, SECTIONS[key][0].number, (filled_section.question,))
    for language in languages:
        _write_pages(work / language, language, entries, lessons, networks)
    return len(entries) + len(lessons)


def _write_run(work: Path, key: str, trace: Trace, seed: int, own_questions: Sequence[Question] = ()) -> None:
    """A run, questions of its own and those that are made from it."""
    records = [q.record() for q in (*own_questions, *questions(trace, seed, _QUESTIONS_PER_RUN))]
    _write_packed(work, key, {"timeline": build_timeline(trace), "questions": records})


def _write_packed(work: Path, key: str, record: Mapping[str, object]) -> None:
    """What a page loads by its key, packed, as a script."""
    packed = base64.b64encode(gzip.compress(dump_json(record).encode(), 9, mtime=0)).decode("ascii")
    (work / "runs" / f"{key}.js").write_text(f'collsimRun("{key}","{packed}");\n', encoding="ascii")


def _write_pages(
    folder: Path,
    language: str,
    entries: Sequence[Entry],
    lessons: Mapping[str, FilledSection],
    networks: Sequence[GalleryNetwork],
) -> None:
    version = __version__

    def write(name: str, title: str, body: str, data: dict[str, Any]) -> None:
        (folder / name).write_text(pages.build_page(name, language, title, body, data, version), encoding="utf-8")

    _write_lessons(write, language, entries, lessons)
    _write_gallery(write, language, entries, networks)
    story_data = {"kind": "story", "story": json.loads(encode_story())}
    write("story.html", get_text("story", language), '<div id="story"></div>', story_data)
    write("choose.html", get_text("choose", language), pages.build_choice_body(language), {"kind": "choose"})
    keys = [{"key": f"lesson--{key}", "href": pages.name_lesson_file(key)} for key in lessons]
    data = {"kind": "questions", "keys": keys}
    write("questions.html", get_text("questions", language), pages.build_questions_body(language), data)


def _write_lessons(write: Write, language: str, entries: Sequence[Entry], lessons: Mapping[str, FilledSection]) -> None:
    """A page for every section, and the list of lessons."""
    for key, filled_section in lessons.items():
        step = filled_section.answer_step
        data = {"kind": "lesson", "run": f"lesson--{key}", "view": filled_section.view, "answer_step": step}
        title, body = pages.format_lesson_title(key, language), pages.build_lesson_body(key, filled_section, language)
        write(pages.name_lesson_file(key), title, body, data)
    algorithms, networks = {e.algorithm for e in entries}, {e.network for e in entries}
    counts = {"runs": len(entries), "algorithms": len(algorithms), "networks": len(networks)}
    body = pages.build_contents_body(language, counts)
    write("index.html", get_text("lessons", language), body, {"kind": "contents"})


def _write_gallery(write: Write, language: str, entries: Sequence[Entry], networks: Sequence[GalleryNetwork]) -> None:
    """All runs to choose from, and those that race."""
    names = {network.key: network.name[LANGUAGES.index(language)] for network in networks}
    listed = [{"key": e.key, "algorithm": e.algorithm, "network": e.network, "ranks": e.ranks} for e in entries]
    first = next((e.key for e in entries if e.algorithm == "allreduce_ring" and e.ranks == 8), entries[0].key)
    data = {"kind": "gallery", "runs": listed, "networks": names, "first": first}
    write("gallery.html", get_text("gallery", language), pages.build_gallery_body(language), data)
    races, race_names = list_races(entries), {}
    for key in races:
        network, _, ranks = key.rpartition("/")
        race_names[key] = get_text("course", language, network=names[network], ranks=ranks)
    body = pages.build_race_body(language, race_names)
    write("race.html", get_text("race", language), body, {"kind": "race", "races": races})


def list_races(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """For every network and number of ranks the runs that race there: at least two of the racers.

    Args:
        entries: All runs of the gallery.

    Returns:
        Keys of runs by "network/ranks", the race that is shown first in front.
    """
    races: dict[str, list[str]] = {}
    for name in _RACERS:
        for e in entries:
            if e.algorithm == name:
                races.setdefault(f"{e.network}/{e.ranks}", []).append(e.key)
    full = {key: keys for key, keys in races.items() if len(keys) > 1}
    # `switch/8` comes first; sorting is stable, so the others keep their order.
    return dict(sorted(full.items(), key=lambda race: race[0] != "switch/8"))
