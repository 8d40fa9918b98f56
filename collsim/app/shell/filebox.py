"""Files on a page: any format of a run, made when asked for; and a place to give a schedule file that is then
played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import streamlit as st

from collsim.errors import CollsimError
from collsim.io import Format
from collsim.markup import escape_markdown
from collsim.units import format_bytes

from ..scenario import files
from ..scenario.choice import Choice
from ..scenario.files import Upload
from ..scenario.mistakes import sentence
from ..scenario.outcome import Outcome, build_place
from ..texts.catalogue import TEXTS
from .notes import mistake, note
from .results import latest
from .session import forget_widgets, language, queue_callback, session, t

#: Of the name of a format: what makes the file, the seconds that takes, and its arguments.
Work = Callable[[str], tuple[Callable[..., Any], Callable[..., float], tuple[Any, ...]]]
_UPLOAD, _WRONG = "upload", "upload_mistake"
_FIRST = "html"


def uploaded() -> Upload | None:
    """The schedule file that this tab plays."""
    return cast("Upload | None", st.session_state.get(_UPLOAD))


# ---- out -----------------------------------------------------------------------------------------------------------


def downloads(choice: Choice) -> None:
    """One menu of all formats, a button that makes the file, and then one that hands it over."""
    upload = uploaded()
    able = [entry for entry in files.offers() if upload is None or entry.holds != "table"]
    function, expected = (
        (files.file, files.expected_file) if upload is None else (files.converted, files.expected_converted)
    )
    given: tuple[Any, ...] = (choice,) if upload is None else (upload, choice)
    _choose(able, lambda name: (function, expected, (*given, name, language())))


def of_race(runners: list[tuple[str, Choice]]) -> None:
    """Every runner in all formats of a run, and the race as a table."""
    names = {number: said for number, (said, _) in enumerate(runners)} | {len(runners): t("files.race")}
    if st.session_state.get("w_f_of") not in names:
        st.session_state["w_f_of"] = 0
    of = st.selectbox(t("files.of"), list(names), format_func=names.__getitem__, key="w_f_of")
    if of == len(runners):
        _choose(files.tables(), lambda name: (files.race, files.expected_race, (tuple(runners), name)))
    else:
        able = [entry for entry in files.offers() if entry.holds != "table"]
        _choose(able, lambda name: (files.file, files.expected_file, (runners[of][1], name, language())))


def of_comparison(choice: Choice) -> None:
    """The table of a comparison."""
    _choose(files.tables(), lambda name: (files.comparison, files.expected_comparison, (choice, name)))


def _choose(able: list[Format], work: Work) -> None:
    """The menu of formats, the button, and the file."""
    offered({entry.name: _label(entry) for entry in able}, work)


def offered(labels: dict[str, str], work: Work) -> None:
    """The menu, the button, and the file; `labels` are what formats say, by name; `work` is what makes a file in one: a
    function, the seconds it should take, its arguments."""
    pick, make, _ = st.columns([3, 1, 2], vertical_alignment="bottom", gap="small")
    known = st.session_state.get("w_format")
    st.session_state["w_format"] = (
        known if known in labels else next(iter([name for name in labels if name == _FIRST] or labels))
    )
    name = pick.selectbox(t("files.format"), list(labels), format_func=labels.__getitem__, key="w_format")
    if "gif" in labels and not files.films():
        note(t("files.nofilm"))
    function, expected, arguments = work(name)
    if make.button(t("files.make"), width="stretch", key="files_make"):
        st.session_state["file_asked"] = function.__name__, arguments
    if st.session_state.get("file_asked") != (function.__name__, arguments):
        return
    found = latest(function, *arguments, expected=expected, only=True)
    if found is not None:
        title, data = found[0]
        label = t("files.take", name=title, nbytes=format_bytes(len(data)))
        st.download_button(escape_markdown(label), data, title, key="files_take", on_click="ignore", type="primary")


def _about(entry: Format) -> str:
    """What a format says of itself, where the app has no words of its own for it."""
    return entry.chinese if language() == "zh" and entry.chinese else entry.about


def _label(entry: Format) -> str:
    about = t(f"format.{entry.name}") if f"format.{entry.name}" in TEXTS else _about(entry)
    return f"{t(f'files.{entry.holds}')}{t('colon')}{about} ({entry.suffixes[0]})"


# ---- in


def upload_box() -> None:
    """A schedule file in any format that is known; what is wrong with one is said, and the run stays."""
    kept = uploaded()
    label = t("files.change", name=kept.name) if kept else t("files.give")
    with st.popover(escape_markdown(label), width="stretch"):
        note(t("files.note"))
        st.file_uploader(
            t("files.file"), type=files.suffixes(), key="w_schedule_file", max_upload_size=2, on_change=_take
        )
        if wrong := st.session_state.pop(_WRONG, None):
            mistake(sentence(wrong, language()))
        if kept:
            st.button(t("files.drop"), on_click=_drop, width="stretch", key="files_drop")


@queue_callback
def _take() -> None:
    """A file was given. One that holds a schedule is played, on a switch if the place has too few ranks for it."""
    given = st.session_state.get("w_schedule_file")
    if given is None:
        return
    upload = Upload(Path(given.name).name, given.getvalue())
    choice = session().choice
    try:
        ranks = files.schedule_of(upload).ranks
    except CollsimError as error:
        st.session_state[_WRONG] = error
        return
    st.session_state[_UPLOAD] = upload
    session().choice = files.placed(choice, ranks)
    forget_widgets()


def _drop() -> None:
    st.session_state.pop(_UPLOAD, None)
    forget_widgets()


def played(choice: Choice) -> tuple[tuple[Outcome, str, str], tuple[Upload, Choice]] | None:
    """The uploaded schedule's Outcome, its label and what is wrong with it; and of which upload and choice, which under
    a bar are the last.

    None while it is computed or where it cannot run.
    """
    upload = uploaded()
    assert upload is not None
    build_place(choice)
    found = latest(files.played, upload, choice, expected=files.expected_played, compiled=choice.engine == "event")
    return cast("tuple[tuple[Outcome, str, str], tuple[Upload, Choice]] | None", found)
