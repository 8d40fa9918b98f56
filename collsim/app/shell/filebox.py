"""Files on a page: any format of a run, made when asked for; and a place to give a schedule file that is then
played."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.errors import CollsimError
from collsim.io import Format
from collsim.units import format_bytes

from ..scenario import run_files
from ..scenario.choice import Choice
from ..scenario.outcome import Outcome, build_topology
from ..scenario.run_files import Upload
from ..texts import has_text
from .controls import choose
from .notes import draw_error, draw_note
from .results import get_exact, get_latest
from .session import forget_widgets, get_language, get_session, queue_callback, t

#: A function that `jobs.job_spec.job` decorates and that makes a file, and its arguments.
FileJob = tuple[Callable[..., tuple[str, bytes]], tuple[Any, ...]]
#: What the menu of a picture may ask for: the kinds of files that are made here, by their type.
EXPORT_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "html": "text/html",
}
#: Bytes up to which a file goes to the browser with the picture; a larger one is downloaded by a button.
_LARGEST_SENT = 8 * 2**20
_UPLOAD, _WRONG, _EXPORT = "upload", "upload_mistake", "export_asked"
_FIRST = "html"


def get_upload() -> Upload | None:
    """The schedule file that this tab plays."""
    return cast("Upload | None", st.session_state.get(_UPLOAD))


# ---- out -----------------------------------------------------------------------------------------------------------


def draw_downloads(choice: Choice) -> None:
    """One menu of all formats, a button that makes the file, and then one that hands it over.

    Args:
        choice: The run that is chosen.
    """
    upload = get_upload()
    able = [entry for entry in run_files.list_formats() if upload is None or entry.holds != "table"]
    if upload is None:
        _choose(able, lambda name: (run_files.build_file, (choice, name, get_language())))
    else:
        _choose(able, lambda name: (run_files.convert_upload, (upload, choice, name, get_language())))


def draw_race_downloads(runners: list[tuple[str, Choice]]) -> None:
    """Every runner in all formats of a run, and the race as a table.

    Args:
        runners: The runs of the race, each with its label.
    """
    names = {number: label for number, (label, _) in enumerate(runners)} | {len(runners): t("files.race")}
    of = choose("f_of", t("files.of"), names, 0)
    if of == len(runners):
        _choose(run_files.list_table_formats(), lambda name: (run_files.build_race_table, (tuple(runners), name)))
    else:
        able = [entry for entry in run_files.list_formats() if entry.holds != "table"]
        _choose(able, lambda name: (run_files.build_file, (runners[of][1], name, get_language())))


def draw_comparison_downloads(choice: Choice) -> None:
    """The table of a comparison.

    Args:
        choice: The run that is chosen.
    """
    _choose(run_files.list_table_formats(), lambda name: (run_files.build_comparison_table, (choice, name)))


def _choose(able: list[Format], work: Callable[[str], FileJob]) -> None:
    """The menu of formats, the button, and the file."""
    draw_offer({entry.name: _label(entry) for entry in able}, work)


def draw_offer(labels: dict[str, str], work: Callable[[str], FileJob]) -> None:
    """The menu, the button, and the file; `labels` are what formats say, by name; `work` is what makes a file in one.

    Args:
        labels: Labels of the formats by name.
        work: For a format's name the function that makes the file, and its arguments.
    """
    pick, make, _ = st.columns([3, 1, 2], vertical_alignment="bottom", gap="small")
    with pick:
        name = choose("format", t("files.format"), labels, _FIRST)
    if "gif" in labels and not run_files.has_ffmpeg():
        draw_note(t("files.nofilm"))
    function, arguments = work(name)
    if make.button(t("files.make"), width="stretch", key="files_make"):
        st.session_state["file_asked"] = function.__name__, arguments
        st.session_state.pop(_EXPORT, None)  # one file at a time
    if st.session_state.get("file_asked") != (function.__name__, arguments):
        return
    file = get_exact(function, *arguments)
    if file is not None:
        title, data = file
        label = t("files.take", name=title, nbytes=format_bytes(len(data)))
        st.download_button(escape_markdown(label), data, title, key="files_take", on_click="ignore", type="primary")


# ---- out of the menu of a picture ------------------------------------------------------------------------------------


def hear_export(key: str) -> None:
    """A file was asked for in the menu of a picture.

    Args:
        key: Key of the picture's component.
    """
    wish = (st.session_state.get(key) or {}).get("export")
    # What the browser sends may be anything.
    if not isinstance(wish, dict) or wish.get("kind") not in EXPORT_TYPES:
        return
    moment = wish.get("t")
    if not isinstance(moment, int | float) or not math.isfinite(moment) or moment < 0:
        moment = 0.0
    st.session_state.pop("file_asked", None)  # one file at a time
    st.session_state[_EXPORT] = key, wish["kind"], float(moment), token_hex(8)


def build_exports(key: str, work: Callable[[str, float], FileJob]) -> dict[str, object]:
    """What a picture's menu is given: whether films can be made, and the file that was asked for, once it is made. A
    slow one has a bar at the edge of the window until then.

    Args:
        key: Key of the picture's component.
        work: For a kind of file and the moment (s) that is shown the function that makes it, and its arguments.
    """
    exports: dict[str, object] = {"film": run_files.has_ffmpeg(), "file": None}
    asked_key, kind, moment, ident = st.session_state.get(_EXPORT, ("", "", 0.0, ""))
    if asked_key != key:
        return exports
    function, arguments = work(kind, moment)
    with st.container(key="export"):
        file = get_exact(function, *arguments)
        if file is None:
            st.button(t("files.close"), key="export_close", on_click=_end_export, type="tertiary")
            return exports
        name, data = file
        if len(data) > _LARGEST_SENT:
            label = escape_markdown(t("files.take", name=name, nbytes=format_bytes(len(data))))
            st.download_button(label, data, name, key="export_take", on_click=_end_export, type="primary")
            return exports
    _end_export()
    content = base64.b64encode(data).decode()
    return exports | {"file": {"id": ident, "name": name, "type": EXPORT_TYPES[kind], "content": content}}


def build_run_exports(key: str, choice: Choice, page: FileJob | None = None) -> dict[str, object]:
    """The same for the picture of a run, or of the schedule file that this tab plays.

    Args:
        key: Key of the picture's component.
        choice: The run that is shown.
        page: What makes its offline page, without the moment (s); None for the player's page.
    """
    upload, language = get_upload(), get_language()

    def work(kind: str, moment: float) -> FileJob:
        if kind == "html" and page is not None:
            function, arguments = page
            return function, (*arguments, moment)
        if kind != "html":  # a film is the same from every moment
            moment = 0.0
        if upload is None:
            return run_files.build_file, (choice, kind, language, moment)
        return run_files.convert_upload, (upload, choice, kind, language, moment)

    return build_exports(key, work)


def _end_export() -> None:
    st.session_state.pop(_EXPORT, None)


def _describe_format(entry: Format) -> str:
    """What a format says of itself, where the app has no words of its own for it."""
    if get_language() == "zh" and entry.chinese:
        return entry.chinese
    return entry.about


def _label(entry: Format) -> str:
    if has_text(f"format.{entry.name}"):
        about = t(f"format.{entry.name}")
    else:
        about = _describe_format(entry)
    return f"{t(f'files.{entry.holds}')}{t('colon')}{about} ({entry.suffixes[0]})"


# ---- in


def draw_upload() -> None:
    """A schedule file in any format that is known; what is wrong with one is said, and the run stays."""
    upload = get_upload()
    label = t("files.give")
    if upload:
        label = t("files.change", name=upload.name)
    with st.popover(escape_markdown(label), width="stretch", key="files_give"):
        draw_note(t("files.note"))
        st.file_uploader(
            t("files.file"), type=run_files.list_suffixes(), key="w_schedule_file", max_upload_size=2, on_change=_take
        )
        if wrong := st.session_state.pop(_WRONG, None):
            draw_error(wrong)
        if upload:
            st.button(t("files.drop"), on_click=_drop, width="stretch", key="files_drop")


@queue_callback
def _take() -> None:
    """A file was given. One that holds a schedule is played, on a switch if the machine has too few ranks for it."""
    uploaded_file = st.session_state.get("w_schedule_file")
    if uploaded_file is None:
        return
    upload = Upload(Path(uploaded_file.name).name, uploaded_file.getvalue())
    choice = get_session().choice
    try:
        ranks = run_files.read_schedule(upload).ranks
    except CollsimError as error:
        st.session_state[_WRONG] = error
        return
    play_schedule(upload, run_files.place_choice(choice, ranks))


def play_schedule(upload: Upload, choice: Choice) -> None:
    """Let the pages play a schedule that another page has made, as if its file had been given.

    Args:
        upload: The file of the schedule.
        choice: Where it runs, and how large it is.
    """
    st.session_state[_UPLOAD] = upload
    get_session().choice = choice
    forget_widgets()


def _drop() -> None:
    st.session_state.pop(_UPLOAD, None)
    forget_widgets()


def get_played(choice: Choice) -> tuple[tuple[Outcome, str, str], tuple[Upload, Choice]] | None:
    """The uploaded schedule's Outcome, its label and what is wrong with it; and of which upload and choice, which under
    a bar are the last.

    None while it is computed or where it cannot run.

    Args:
        choice: The run that is chosen.
    """
    upload = get_upload()
    assert upload is not None
    build_topology(choice)
    return get_latest(run_files.play_upload, upload, choice)
