"""Files of a real job that hung, read on the page: Flight Recorder dumps and outputs of ncclras, in any order."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.programs.job_records.hang_report import HangReport

from ...shell.notes import draw_error, draw_note, format_verdict
from ...shell.session import get_language, t

#: One file for each rank of eight nodes with eight GPUs; megabytes of each.
MAX_FILES, _MAX_MEGABYTES = 64, 4
# The end of a name is kept, since it tells the rank and the format; file systems take 255 bytes.
_TEXT_NAME, _LONGEST_NAME = "ras.txt", 80
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")  # characters of a name that may lead elsewhere


def draw_job_files() -> None:
    """Draw the place to paste or upload what a job wrote, and what it says."""
    with st.expander(t("program.job")):
        draw_note(t("program.job.note"))
        uploaded = st.file_uploader(
            t("program.job.files"), accept_multiple_files=True, key="w_job_files", max_upload_size=_MAX_MEGABYTES
        )
        text = st.text_area(t("program.job.text"), key="w_job_text", height=120)
        files = [(file.name, file.getvalue()) for file in uploaded[:MAX_FILES]]
        if text.strip():
            files.append((_TEXT_NAME, text.encode("utf-8", "replace")))
        if files:
            _draw_report(files)


def _draw_report(files: Sequence[tuple[str, bytes]]) -> None:
    try:
        report = read_job_files(files)
    except CollsimError as error:
        draw_error(error)
        return
    head, token = t("program.job.hangs"), "full"
    if not report.findings and report.unread:
        head, token = t("program.job.unknown"), ""
    elif not report.findings:
        head, token = t("program.job.fine"), "done"
    st.html(format_verdict(head, report.explanation(get_language()), token=token, status=True))


def read_job_files(files: Sequence[tuple[str, bytes]]) -> HangReport:
    """Read files that were uploaded.

    Args:
        files: Name and bytes of each; a name ends in the rank, and leads nowhere.

    Raises:
        CollsimError: They are none of these, or do not belong together.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (name, data) in enumerate(files):
            directory = Path(folder) / str(number)
            directory.mkdir()
            paths.append(directory / (_UNSAFE.sub("_", name)[-_LONGEST_NAME:].lstrip(".") or "file"))
            paths[-1].write_bytes(data)
        return cs.programs.load_hang(*paths)
