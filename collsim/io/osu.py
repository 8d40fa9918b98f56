"""OSU micro-benchmarks (OMB) and Intel MPI Benchmarks (IMB): the tables that osu_allreduce, IMB-MPI1 and their
siblings print, in.

Source: mvapich.cse.ohio-state.edu/benchmarks, OMB 3 to 7, util/osu_util_mpi.c (`print_header`, `print_stats`). A table
begins with its title (`# OSU MPI Allreduce Latency Test v7.0`, with `-CUDA` or `-ROCM` where buffers sit on GPUs; the
`#` is sometimes lost) and a line of columns (`# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations`);
a row is a size and the columns, in microseconds or MB/s of 10^6. Other lines between them (mpirun's, UCX's) are normal,
as are several tables in one log.

IMB (github.com/intel/mpi-benchmarks, 2 to 2021) prints `# Benchmarking Allreduce`, `# #processes = 8` and the columns
`#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]`, for one number of processes after the other.

The size is what one rank gives: for allgather, alltoall, gather and scatter nccl-tests' size is the whole array, `n`
times that. `nbytes` here is nccl-tests'; it needs `ranks`, which OSU does not print. `block` is the size as printed.

A table is a pandas DataFrame in SI units: a row per size with `table, test, collective, ranks, nbytes, block, time,
min_time, max_time, algbw, busbw, iterations`. Bandwidth tests (osu_bw, osu_bibw) have algbw and no time, latency tests
of pairs are sendrecv.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..collective import get_collective
from ..errors import Sentence
from ..errors.dependencies import pandas as pd
from ..files import FilePath, parse_real_number, parse_whole_number, read_text, refuse
from ..package_data import read_toml
from ..units import parse_count
from .file_formats import register_built_in

#: Titles as OMB writes them, without spaces and hyphens, and our collectives.
_WORDS = read_toml(__file__, "osu.toml")
TESTS: dict[str, str] = _WORDS["tests"]
#: Collectives whose size OSU counts per pair of ranks or per rank, nccl-tests in all. Reduce-scatter's is the whole
#: array in both.
PER_RANK = ("allgather", "alltoall", "gather", "scatter")

_TITLE = re.compile(
    r"^#?\s*OSU (MPI|NCCL|UPC|OpenSHMEM)?(?:-(?:CUDA|ROCM|OPENACC|SYCL|NEURON))?\s*"
    r"(.{0,60}?)\s*(Latency|Bandwidth(?: / Message Rate)?) Test",
    re.I | re.ASCII,
)
_IMB_TITLE = re.compile(r"^#\s*Benchmarking\s+(?:Multi-)?(\w{1,40})\s*$", re.ASCII)
_IMB_RANKS = re.compile(r"^#\s*#processes\s*=\s*(\d{1,7})\b", re.ASCII)
_COLUMNS = re.compile(r"^#?\s*(?:Size|bytes)\s", re.I | re.ASCII)
_ROW = re.compile(r"^\d{1,19}\s+[-\d.]", re.ASCII)
_MAX_ROWS, _LONGEST = 200_000, 300
_US, _MB = 1e-6, 1e6
#: What a column's heading begins with, and what it is.
_KINDS: list[tuple[str, str]] = list(map(tuple, _WORDS["columns"]))


@dataclass
class _Table:
    """What the lines before a row say about it."""

    number: int = -1
    library: str = ""
    test: str = ""
    collective: str | None = None
    ranks: int | None = None
    columns: tuple[str, ...] = ()


def read_osu(path: FilePath, *, collective: str | None = None, ranks: int | None = None) -> pd.DataFrame:
    """Read the tables of a log of the OSU micro-benchmarks or the Intel MPI Benchmarks.

    Args:
        path: Of the log.
        collective: What was run, where the title is missing.
        ranks: How many ranks ran, where the log does not print it; else sizes are OSU's own, and there is no busbw.

    Returns:
        The rows of all tables, in SI units.

    Raises:
        FormatError: Naming the line of a damaged row, or if there is no table.
    """
    name = count = None
    if collective is not None:
        name = get_collective(collective).name
    if ranks is not None:
        count = parse_count(ranks, "ranks")
    rows = [row for _, row in parse_osu_rows(read_text(path).splitlines(), path, name, count)]
    if not rows:
        message = (
            "no row of an OSU or IMB table; expected a title (# OSU MPI Allreduce Latency Test, # Benchmarking "
            "Allreduce) and lines of size and latency"
        )
        refuse(path, "", message)
    return _build_frame(rows)


def parse_osu_rows(
    lines: Sequence[str], path: FilePath, collective: str | None = None, ranks: int | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Read the rows of all tables in the lines of a log.

    Args:
        lines: of the log.
        path: of the file, or a name for the text; it stands in errors.
        collective: What was run, where the title is missing.
        ranks: How many ranks ran; without it sizes are OSU's own.

    Yields:
        The number of a row's line from 1, and its values in SI units; `library` is `MPI`, `NCCL` or "".

    Raises:
        FormatError: Naming the line of a damaged row.
    """
    count, seen = 0, _Table(collective=collective)
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not (seen.columns and _ROW.match(line)):
            _read_heading(path, number, line[:_LONGEST], seen, collective)
            continue
        yield number, _parse_row(path, number, line, seen, ranks)
        count += 1
        if count > _MAX_ROWS:
            refuse(path, Sentence("line {line}", line=number), "more than {most:,} rows", most=_MAX_ROWS)


def _read_heading(path: FilePath, number: int, line: str, seen: _Table, collective: str | None) -> None:
    """Take over a title or a line of columns; any other line says nothing."""
    if (title := _TITLE.match(line)) is not None:
        name = re.sub(r"[\s_-]|non.?blocking|persistent", "", title[2].lower())
        seen.number, seen.test, seen.columns = seen.number + 1, " ".join(f"{title[2]} {title[3]}".split()), ()
        seen.library = title[1] or ""
        seen.collective = collective or TESTS.get(name)
    elif (title := _IMB_TITLE.match(line)) is not None:
        seen.number, seen.test, seen.columns, seen.ranks = seen.number + 1, title[1], (), None
        seen.library = "MPI"
        seen.collective = collective or TESTS.get(title[1].lower().replace("_", ""))
    elif (ranks := _IMB_RANKS.match(line)) is not None:
        seen.ranks = int(ranks[1])
    elif _COLUMNS.match(line):
        seen.number = max(seen.number, 0)
        seen.columns = _parse_columns(path, number, line)


def _parse_columns(path: FilePath, number: int, line: str) -> tuple[str, ...]:
    """What the columns after the size hold; a column of no use to us is ''."""
    heads = re.split(r"\s{2,}|(?<=\))\s+|\t", _COLUMNS.sub("", line).strip())
    columns = []
    for head in heads[:32]:
        kind = next((kind for word, kind in _KINDS if head.lower().startswith(word)), "")
        columns.append("algbw" if head.upper().startswith("MB/S") else kind)
    if "time" not in columns and "algbw" not in columns:
        refuse(
            path,
            Sentence("line {line}", line=number),
            "a line of columns without a latency or a bandwidth; expected for example '# Size  Avg Latency(us)'",
        )
    return tuple(columns)


def _parse_row(path: FilePath, number: int, line: str, seen: _Table, ranks: int | None) -> dict[str, object]:
    where, tokens = Sentence("line {line}", line=number), line.split()[:64]
    # Fewer values than columns: the last line of a file that was cut.
    if len(tokens) <= len(seen.columns):
        message = "{count} values, but the table has {columns} columns; is the file truncated?"
        refuse(path, where, message, count=len(tokens), columns=len(seen.columns) + 1)
    values = _parse_values(path, where, seen, tokens[1:])
    block = parse_whole_number(path, where, "size", tokens[0], 0, 2**60)
    nbytes, ranks = block, seen.ranks or ranks
    # OSU prints the bytes of one rank for some collectives; collsim's size is nccl-tests'.
    if ranks is not None and seen.collective in PER_RANK:
        nbytes = block * ranks
    timed = values["time"] > 0
    if timed:
        algbw = nbytes / values["time"]
    else:
        algbw = values["algbw"]
    factor = math.nan
    if seen.collective and ranks and timed:
        factor = get_collective(seen.collective).busbw(ranks)
    facts = {
        "table": max(seen.number, 0),
        "library": seen.library,
        "test": seen.test,
        "collective": seen.collective,
        "ranks": ranks,
    }
    return {**facts, "nbytes": nbytes, "block": block, **values, "algbw": algbw, "busbw": algbw * factor}


def _parse_values(path: FilePath, where: Sentence, seen: _Table, tokens: list[str]) -> dict[str, float]:
    values = dict.fromkeys(("time", "min_time", "max_time", "algbw", "iterations"), math.nan)
    for kind, text in zip(seen.columns, tokens, strict=False):
        if kind:
            values[kind] = parse_real_number(path, where, kind, text) * {"algbw": _MB, "iterations": 1.0}.get(kind, _US)
    return values


def _build_frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    columns = [
        "table",
        "test",
        "collective",
        "ranks",
        "nbytes",
        "block",
        "time",
        "min_time",
        "max_time",
        "algbw",
        "busbw",
        "iterations",
    ]
    return pd.DataFrame(rows, columns=columns)


def _is_osu_output(head: str) -> bool:
    lines = (line.strip()[:_LONGEST] for line in head.splitlines()[:2000])
    return any(_TITLE.match(line) or _IMB_TITLE.match(line) for line in lines)


register_built_in("osu", read=read_osu, looks=_is_osu_output)
