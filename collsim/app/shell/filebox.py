"""Files on a page: any format of a run, made when asked for; and a place to give a schedule file that is then
played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.errors import CollsimError
from collsim.io import Format
from collsim.units import format_bytes

from ..scenario import run_files
from ..scenario.choice import Choice
from ..scenario.mistakes import write_sentence
from ..scenario.outcome import Outcome, build_topology
from ..scenario.run_files import Upload
from ..texts import has_text
from .notes import draw_mistake, draw_note
from .results import get_latest
from .session import forget_widgets, get_language, get_session, queue_callback, t

#: Of the name of a format: what makes the file, the seconds that takes, and its arguments.
Work = Callable[[str], tuple[Callable[..., Any], Callable[..., float], tuple[Any, ...]]]
_UPLOAD, _WRONG = "upload", "upload_mistake"
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
        _choose(able, lambda name: (run_files.build_file, run_files.estimate_file, (choice, name, get_language())))
    else:
        _choose(
            able,
            lambda name: (
                run_files.convert_upload,
                run_files.estimate_conversion,
                (upload, choice, name, get_language()),
            ),
        )


def draw_race_downloads(runners: list[tuple[str, Choice]]) -> None:
    """Every runner in all formats of a run, and the race as a table.

    Args:
        runners: The runs of the race, each with its label.
    """
    names = {number: label for number, (label, _) in enumerate(runners)} | {len(runners): t("files.race")}
    if st.session_state.get("w_f_of") not in names:
        st.session_state["w_f_of"] = 0
    of = st.selectbox(t("files.of"), list(names), format_func=names.__getitem__, key="w_f_of")
    if of == len(runners):
        _choose(
            run_files.list_table_formats(),
            lambda name: (run_files.build_race_table, run_files.estimate_race, (tuple(runners), name)),
        )
    else:
        able = [entry for entry in run_files.list_formats() if entry.holds != "table"]
        _choose(
            able, lambda name: (run_files.build_file, run_files.estimate_file, (runners[of][1], name, get_language()))
        )


def draw_comparison_downloads(choice: Choice) -> None:
    """The table of a comparison.

    Args:
        choice: The run that is chosen.
    """
    _choose(
        run_files.list_table_formats(),
        lambda name: (run_files.build_comparison_table, run_files.estimate_comparison, (choice, name)),
    )


def _choose(able: list[Format], work: Work) -> None:
    """The menu of formats, the button, and the file."""
    draw_offer({entry.name: _label(entry) for entry in able}, work)


def draw_offer(labels: dict[str, str], work: Work) -> None:
    """The menu, the button, and the file; `labels` are what formats say, by name; `work` is what makes a file in one: a
    function, the seconds it should take, its arguments.

    Args:
        labels: Labels of the formats by name.
        work: For a format's name: the function that makes the file, the one that estimates its time, and their
            arguments.
    """
    pick, make, _ = st.columns([3, 1, 2], vertical_alignment="bottom", gap="small")
    known = st.session_state.get("w_format")
    if known in labels:
        st.session_state["w_format"] = known
    else:
        st.session_state["w_format"] = next(iter([name for name in labels if name == _FIRST] or labels))
    name = pick.selectbox(t("files.format"), list(labels), format_func=labels.__getitem__, key="w_format")
    if "gif" in labels and not run_files.has_ffmpeg():
        draw_note(t("files.nofilm"))
    function, expected, arguments = work(name)
    if make.button(t("files.make"), width="stretch", key="files_make"):
        st.session_state["file_asked"] = function.__name__, arguments
    if st.session_state.get("file_asked") != (function.__name__, arguments):
        return
    latest_result = get_latest(function, *arguments, expected=expected, only=True)
    if latest_result is not None:
        title, data = latest_result[0]
        label = t("files.take", name=title, nbytes=format_bytes(len(data)))
        st.download_button(escape_markdown(label), data, title, key="files_take", on_click="ignore", type="primary")


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
    if upload:
        label = t("files.change", name=upload.name)
    else:
        label = t("files.give")
    with st.popover(escape_markdown(label), width="stretch"):
        draw_note(t("files.note"))
        st.file_uploader(
            t("files.file"), type=run_files.list_suffixes(), key="w_schedule_file", max_upload_size=2, on_change=_take
        )
        if wrong := st.session_state.pop(_WRONG, None):
            draw_mistake(write_sentence(wrong, get_language()))
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
    latest_result = get_latest(
        run_files.play_upload, upload, choice, expected=run_files.estimate_played, compiled=choice.engine == "event"
    )
    return cast("tuple[tuple[Outcome, str, str], tuple[Upload, Choice]] | None", latest_result)
