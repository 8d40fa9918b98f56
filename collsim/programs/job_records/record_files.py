"""Files that a job left when it hung, in any order and of any kind that is known here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import CollsimError, FormatError
from ...errors.arguments import check_arguments
from ...files import FilePath, list_files, read_head, read_json, read_text, refuse
from .analysis import analyze_record
from .flight_recorder import RankDump, join_dumps, read_dump
from .hang_report import HangReport
from .ras import RasCommunicator, build_ras_report, looks_like_ras, read_ras_document, read_ras_text

MAX_FILES = 4_096
#: Bytes by which it is decided whether a file is a record, before it is read whole.
_HEAD = 64 * 1024


@check_arguments
def load_hang(*paths: FilePath) -> HangReport:
    """Read what a hung job wrote, and say which rank is behind, at which call, and who never called.

    Args:
        paths: Flight Recorder dumps, one for each rank, as pickle or JSON; or one or more outputs of `ncclras`, as text
            or JSON; or a folder of these. The order of files does not matter. Of a dump nothing is executed.

    Returns:
        The same report as `ProgramRun.hang` of a simulated run.

    Raises:
        CollsimError: no file, dumps and RAS together, or two dumps of one rank.
        FormatError: a file that is neither, or is damaged.

    Examples:
        >>> import collsim as cs
        >>> cs.programs.load_hang("dumps/").culprits  # doctest: +SKIP
        (2,)
    """
    return load_records(_list_files(paths))


def load_records(files: Sequence[Path], errors: list[CollsimError] | None = None) -> HangReport:
    """Read files as `load_hang` does.

    Args:
        files: of one job.
        errors: takes what is wrong with damaged files, which are left out; None to raise the first.

    Raises:
        CollsimError: as `load_hang`, and where all files are damaged.
    """
    dumps: dict[Path, RankDump] = {}
    texts: list[list[RasCommunicator]] = []
    for path in files:
        try:
            communicators = _read_ras(path)
            if communicators is None:
                dumps[path] = read_dump(path)
            else:
                texts.append(communicators)
        except FormatError as error:
            if errors is None or len(errors) + 1 == len(files):
                raise
            errors.append(error)
    if dumps and texts:
        raise CollsimError("Flight Recorder dumps and RAS texts are read apart; give files of one kind")
    if texts:
        return build_ras_report(texts)
    ranks = [dump.rank for dump in dumps.values()]
    for path, dump in dumps.items():
        if ranks.count(dump.rank) > 1:
            refuse(path, "", "two dumps are of rank {rank}; give one for each rank", rank=dump.rank)
    return analyze_record(join_dumps(list(dumps.values())), "flight recorder")


def is_job_record(path: FilePath) -> bool:
    """Whether a file looks like what `load_hang` reads: a pickle, JSON with process groups or communicators, or RAS.

    Args:
        path: of the file; its beginning is looked at.
    """
    head = read_head(path, _HEAD)
    if head.startswith(b"\x80"):
        return True
    if head.lstrip()[:1] == b"{":
        # Traces of PyTorch's profiler have the process groups, too.
        is_trace = b'"schemaVersion"' in head or b'"traceEvents"' in head
        return not is_trace and (b'"pg_config"' in head or b'"communicators"' in head)
    return looks_like_ras(head.decode("utf-8", "replace"))


def _list_files(paths: Sequence[FilePath]) -> list[Path]:
    files = list_files(paths)
    if not files:
        raise CollsimError("give the files of a job that hangs: Flight Recorder dumps, or the output of ncclras")
    if len(files) > MAX_FILES:
        raise CollsimError("{count:,} files are too many; {most:,} is the most", count=len(files), most=MAX_FILES)
    return sorted(files)


def _read_ras(path: Path) -> list[RasCommunicator] | None:
    """The communicators of a RAS output; None for a file that is none."""
    head = read_head(path, _HEAD)
    if head.lstrip()[:1] == b"{":
        document = read_json(path)
        if isinstance(document, dict) and "communicators" in document:
            return read_ras_document(path, document)
        return None
    if looks_like_ras(head.decode("utf-8", "replace")) and not head.startswith(b"\x80"):
        return read_ras_text(path, read_text(path))
    if head.startswith(b"PK\x03\x04"):
        raise FormatError("{name} is a zip; unpack it and give the files in it", name=path.name)
    if head[:1] not in (b"\x80", b"(", b"}"):
        raise FormatError("{name} is neither a Flight Recorder dump nor an output of ncclras", name=path.name)
    return None
