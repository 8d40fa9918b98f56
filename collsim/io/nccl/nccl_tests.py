"""nccl-tests' tables, text and JSON, in and out: what people measured, and what collsim would have printed.

Source: NVIDIA/nccl-tests 2.19.6 src/common.cu (columns and number formats, `getFloatStr`) and doc/PERFORMANCE.md (what
size and bandwidths mean). Text: lines that begin with `#` are headers; a row is `size count type redop root` and then,
out of place and in place, `time (us) algbw busbw (GB/s) #wrong`. Older versions leave out redop and root, print an
error magnitude instead of #wrong; `-I` adds four columns per half; MPI tags in front of lines, NCCL's own lines and
several tables in one log are normal. JSON: what `-J file` writes, version 3.

A table is a pandas DataFrame in SI units: a row per size with `table, collective, ranks, nbytes, count, dtype, redop,
root, time, algbw, busbw, wrong` and the last four again with `in_place_` in front.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from ...collective import collectives, get_collective
from ...dtypes import find_itemsize
from ...errors import CollsimError, FormatError, Sentence, Words
from ...errors.dependencies import pandas as pd
from ...files import FilePath, parse_real_number, parse_whole_number, read_json, read_text, refuse, write_text
from ...package_data import read_package_file, read_toml
from ..file_formats import register_built_in

#: Columns of a row and their values.
Row: TypeAlias = dict[str, Any]
#: nccl-tests' names of types and tests, and ours.
_NAMES = read_toml(__file__, "nccl_tests.toml")
TYPES: dict[str, str] = _NAMES["types"]
TESTS: dict[str, str] = _NAMES["tests"]
#: What stands in front of a line: MPI's tags, `worker-0 |`, `node1:` or `3:` of launchers, time stamps.
_TAG = re.compile(
    r"^(?:(?:\[[^\]\s]{1,100}\](?:<std(?:out|err)>:?)?|[\w.@/-]{1,100}(?::(?=\s)|\s\|)"
    r"|\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?=\s))\s*){1,3}",
    re.ASCII,
)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", re.ASCII)  # behind a row, with -S
#: A page that shows the log as Markdown takes the # away; then `Pid` must say that it is nccl-tests' line.
_RANK = re.compile(r"(?:#\s+Rank\s+(?P<rank>\d{1,7})\s|Rank\s+(?P<bare>\d{1,7})\s.{0,40}\bPid\s)", re.ASCII)
_TEST = re.compile(
    r"\b((?:all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|gather|scatter|sendrecv)_perf)\b"
)
_MAX_ROWS = 200_000
#: B/s by which a printed bandwidth may be rounded: half of the last of two digits behind the point.
_PRINTED = 5e6
_GB = 1e9
_US = 1e-6
_HALF = ("time", "algbw", "busbw", "wrong")


# ---- text in -------------------------------------------------------------------------------------------------------


def read_nccl_tests(path: FilePath, *, collective: str | None = None, ranks: int | None = None) -> pd.DataFrame:
    """Read the tables of a log of nccl-tests.

    Args:
        path: Of the log.
        collective: What was run, where the log does not say (older versions do not print the test's name).
        ranks: How many ranks ran, where the log does not say.

    Returns:
        The rows of all tables, in SI units.

    Raises:
        FormatError: Naming the line of a damaged row, or if there is no table.
    """
    return parse_nccl_tests(read_text(path), path, collective=collective, ranks=ranks)


def parse_nccl_tests(
    text: str, path: FilePath, *, collective: str | None = None, ranks: int | None = None
) -> pd.DataFrame:
    """Read the tables in the text of a log of nccl-tests.

    Args:
        text: of the log.
        path: of the file, or a name for the text; it stands in errors.
        collective: What was run, where the log does not say.
        ranks: How many ranks ran, where the log does not say.

    Returns:
        The rows of all tables, in SI units.

    Raises:
        FormatError: Naming the line of a damaged row, or if there is no table.
    """
    rows: list[Row] = []
    seen = _Header(get_collective(collective).name if collective is not None else None, ranks)
    for number, raw in enumerate(text.splitlines(), 1):
        line = _TAG.sub("", raw.strip())
        row = None if line.startswith("#") else _parse_row(path, number, line)
        if row is None:
            seen.note(line)
        else:
            rows.append({**seen.facts(), **row})
            seen.rows += 1
        if len(rows) > _MAX_ROWS:
            refuse(path, Sentence("line {line}", line=number), "more than {most:,} rows", most=_MAX_ROWS)
    if not rows:
        refuse(path, "", _NO_ROW)
    _infer_collectives(rows)
    return _build_frame(rows)


def _infer_collectives(rows: list[Row]) -> None:
    """Fill in the collective of tables whose test is not named (before nccl-tests 2.16.7), where columns and bandwidths
    tell it."""
    unnamed: dict[int, list[Row]] = {}
    for row in rows:
        if row["collective"] is None:
            unnamed.setdefault(row["table"], []).append(row)
    for table in unnamed.values():
        name = infer_collective(table)
        for row in table:
            row["collective"] = name


def infer_collective(rows: list[Row]) -> str | None:
    """Infer the collective of a table from its columns and from busbw / algbw.

    The factor is 2(n-1)/n for allreduce, (n-1)/n for those where a rank's own block stays, and 1 for broadcast, reduce
    and sendrecv (nccl-tests doc/PERFORMANCE.md). Only tests that reduce print an operator, and only those with a root
    print one that is not -1.

    Args:
        rows: of one table.

    Returns:
        collsim's name; None where several collectives print such rows, as allgather and alltoall do.
    """
    # busbw / algbw is exact to the printed digits, so the row with most digits tells best.
    fastest = max(rows, key=lambda row: row["algbw"])
    if not fastest["algbw"] > 0:
        return None
    factor, ranks = fastest["busbw"] / fastest["algbw"], fastest["ranks"]
    reduces = fastest["redop"] not in (None, "none")
    has_root = fastest["root"] is not None and fastest["root"] >= 0
    rounding = _PRINTED * (1 + factor) / fastest["algbw"]
    # With a root the factor is 1 for all sizes, and only the operation tells reduce from broadcast.
    if has_root:
        if abs(factor - 1) > rounding:
            return None
        return {True: "reduce", False: "broadcast"}[reduces]
    if not reduces:
        return None
    # The factors of allreduce (2(n-1)/n) and reduce_scatter ((n-1)/n) lie on the two sides of 1.
    if factor > 1 + rounding or (ranks == 2 and abs(factor - 1) <= rounding):
        return "allreduce"
    if factor < 1 - rounding:
        return "reduce_scatter"
    return None


_NO_ROW = (
    "no row of an nccl-tests table; expected lines of size, count, type, redop, root, time, algbw, busbw, #wrong ..."
)


class _Header:
    """What the lines before a table say about it."""

    def __init__(self, known: str | None, ranks: int | None):
        self.given, self.given_ranks = known, ranks
        self.collective, self.ranks, self.table, self.rows = known, 0, 0, 0

    def note(self, line: str) -> None:
        test = _TEST.search(line)
        rank = _RANK.match(line)
        if self.rows and ((test is not None and "concluded" not in line) or rank is not None or "nThread" in line):
            self.table, self.rows, self.ranks = self.table + 1, 0, 0
        if test is not None and self.given is None:
            self.collective = TESTS[test[1]]
        if rank is not None:
            self.ranks = max(self.ranks, int(rank["rank"] or rank["bare"]) + 1)

    def facts(self) -> Row:
        return {"table": self.table, "collective": self.collective, "ranks": self.given_ranks or self.ranks or None}


def _parse_row(path: FilePath, number: int, line: str) -> Row | None:
    """A data row, or None for any other line."""
    # Stamps that a launcher puts before lines (`[1,0]<stdout>:`) are no values.
    tokens = [t for t in line.split()[:64] if not _STAMP.fullmatch(t)]
    if len(tokens) < 4 or not (tokens[0].isdigit() and tokens[1].isdigit()) or tokens[2] not in TYPES:
        return None
    where = Sentence("line {line}", line=number)
    rest = tokens[3:]
    redop = None
    if rest[0].isalpha() and rest[0] not in ("nan", "inf"):
        redop = rest.pop(0)
    if len(rest) % 4 == 2 and rest[-1].isdigit():  # a last column #iters behind root and the two halves
        rest.pop()
    root = None
    # Old versions have no root column: one value more than whole groups of four is the root.
    if len(rest) % 4 == 1 and re.fullmatch(r"-?\d+", rest[0]):
        root = rest.pop(0)
    if len(rest) not in (4, 8, 16):
        refuse(
            path,
            where,
            "{count} values; expected size, count, type, redop, root and twice time, algbw, busbw, #wrong (13 in all)",
            count=len(tokens),
        )
    # In-place results stand behind out-of-place ones; either may be missing.
    half = max(4, len(rest) // 2)
    row: Row = {
        "nbytes": parse_whole_number(path, where, "size", tokens[0], 0, 2**60),
        "count": parse_whole_number(path, where, "count", tokens[1], 0, 2**60),
        "dtype": TYPES[tokens[2]],
        "redop": redop,
        "root": None if root is None else parse_whole_number(path, where, "root", root, -1),
        **_parse_half(path, where, rest[: min(4, half)], ""),
    }
    if len(rest) > 4:
        return {**row, **_parse_half(path, where, rest[half : half + 4], "in_place_")}
    return row


def _parse_half(path: FilePath, where: Words, tokens: list[str], prefix: str) -> dict[str, float]:
    *figures, wrong = tokens
    columns = zip(("time", "algbw", "busbw"), figures, (_US, _GB, _GB), strict=True)
    values = {
        f"{prefix}{column}": parse_real_number(path, where, column, text) * unit for column, text, unit in columns
    }
    return {**values, f"{prefix}wrong": math.nan if wrong == "N/A" else parse_real_number(path, where, "#wrong", wrong)}


def _build_frame(rows: list[Row]) -> pd.DataFrame:
    first = ("table", "collective", "ranks", "nbytes", "count", "dtype", "redop", "root")
    return pd.DataFrame(rows, columns=[*first, *_HALF, *(f"in_place_{name}" for name in _HALF)])


# ---- JSON in -------------------------------------------------------------------------------------------------------


def read_nccl_tests_json(path: FilePath) -> pd.DataFrame:
    """The results of `-J file`, in SI units.

    Args:
        path: of the file.

    Raises:
        FormatError: Naming the result and key that is not as expected.
    """
    return parse_nccl_tests_document(read_json(path), path)


def parse_nccl_tests_document(data: object, path: FilePath) -> pd.DataFrame:
    """The results in the decoded JSON of `-J file`, in SI units.

    Args:
        data: the decoded document.
        path: of the file, or a name for the text; it stands in errors.

    Raises:
        FormatError: Naming the result and key that is not as expected.
    """
    if not isinstance(data, dict) or not isinstance(data.get("results"), list) or len(data["results"]) > _MAX_ROWS:
        refuse(path, "", "expected an object with a list of results, as nccl-tests -J writes")
    # Later versions may mean something else by the same names, so they are refused.
    if parse_whole_number(path, "", "version", data.get("version", 3), 1, 2**31) > 3:
        refuse(path, "", "version {version}; this collsim reads versions up to 3", version=data["version"])
    arguments = data.get("args")
    facts: Row = {"table": 0, "collective": None, "ranks": None}
    if isinstance(arguments, list) and (test := _TEST.search(" ".join(map(str, arguments[:2])))):
        facts["collective"] = TESTS[test[1]]
    config = data.get("config")
    if isinstance(config, dict) and isinstance(devices := config.get("devices"), list):
        facts["ranks"] = len(devices) or None
    rows = [
        {**facts, **_build_result(path, Sentence("result {number}", number=k), r)}
        for k, r in enumerate(data["results"])
    ]
    if not rows:
        refuse(path, "", "no results")
    return _build_frame(rows)


def _build_result(path: FilePath, where: Words, result: Any) -> Row:
    if not isinstance(result, dict) or not isinstance(result.get("type"), str) or result["type"] not in TYPES:
        message = "expected an object with size, count, type (one of {types}) and out_of_place"
        refuse(path, where, message, types=", ".join(TYPES))
    row = {
        "nbytes": parse_whole_number(path, where, "size", result.get("size"), 0, 2**60),
        "count": parse_whole_number(path, where, "count", result.get("count"), 0, 2**60),
        "dtype": TYPES[result["type"]],
        "redop": str(result.get("redop", "none"))[:20],
        "root": parse_whole_number(path, where, "root", result.get("root", -1), -1),
    }
    row |= _build_half(path, where, result, "out_of_place", "")
    if result.get("in_place") is None:
        return row
    return row | _build_half(path, where, result, "in_place", "in_place_")


def _build_half(path: FilePath, where: Words, result: Row, key: str, prefix: str) -> dict[str, float]:
    half = result.get(key)
    if not isinstance(half, dict):
        refuse(path, where, "expected {key} to be an object with time, alg_bw, bus_bw", key=key)
    wrong = half.get("nwrong", "N/A")
    time = half.get("time", half.get("cpu_time"))
    values = [str(v) for v in (time, half.get("alg_bw"), half.get("bus_bw"), "N/A" if wrong is None else wrong)]
    return _parse_half(path, Sentence("{where}, {key}", where=where, key=key), values, prefix)


# ---- out


def number(value: float, width: int) -> str:
    """A number as nccl-tests prints it (common.cu getFloatStr): two decimals if they fit, else one, else none, else
    1.2e+07.

    Args:
        value: to print.
        width: characters of its column.
    """
    power = 0
    if value >= 1:
        power = len(str(int(value)))
    for decimals, most in ((2, width - 2), (1, width - 1), (0, width + 1)):
        if power < most:
            return f"{value:{width}.{decimals}f}"
    return f"{value:{width}.{1 if width >= 7 else 0}e}"


def write_nccl_tests(table: pd.DataFrame, path: FilePath) -> None:
    """Print a sweep (or what `load` made of a log) in the columns of all_reduce_perf and its siblings; a table per
    algorithm and topology.

    collsim has one time per size, so both halves are the same, and #wrong is 0.

    Args:
        table: time in s, nbytes in bytes.
        path: of the text file.

    Raises:
        CollsimError: For a table without the columns collective, ranks, nbytes and time.
    """
    write_text(path, _format_text(_select_measured_rows(table)))


def _select_measured_rows(table: pd.DataFrame) -> pd.DataFrame:
    missing = [c for c in ("collective", "ranks", "nbytes", "time") if c not in table.columns]
    if missing:
        message = "a table for nccl-tests needs the columns collective, ranks, nbytes and time; missing: {missing}"
        raise CollsimError(message, missing=", ".join(missing))
    table = table[table["time"].notna()]
    if not len(table):
        raise CollsimError("no row of the table has a time")
    unknown = sorted({str(c) for c in table["collective"]} - set(TESTS.values()))
    if unknown:
        message = "nccl-tests has no test for {unknown}; it has {tests}"
        raise CollsimError(message, unknown=", ".join(unknown), tests=", ".join(TESTS.values()))
    return table


def _group_rows(table: pd.DataFrame) -> Iterator[tuple[Row, list[Row]]]:
    keys = [
        k
        for k in ("table", "collective", "algorithm", "options", "topology", "ranks", "dtype", "engine")
        if k in table.columns
    ]
    groups: dict[str, list[Row]] = {}
    for row in table.to_dict("records"):
        groups.setdefault(repr([row[k] for k in keys]), []).append({str(k): v for k, v in row.items()})
    for rows in groups.values():
        yield {k: rows[0][k] for k in keys}, rows


def _format_text(table: pd.DataFrame) -> Iterator[str]:
    for facts, rows in _group_rows(table):
        test = next(t for t, c in TESTS.items() if c == facts["collective"])
        sizes = [int(r["nbytes"]) for r in rows]
        yield f"# Collective test starting: {test}\n"
        yield f"# nThread 1 nGpus {int(facts['ranks'])} minBytes {min(sizes)} maxBytes {max(sizes)} step: 2(factor) "
        yield "warmup iters: 0 iters: 1 agg iters: 1 validation: 0 graph: 0\n#\n# Using devices\n"
        for r in range(int(facts["ranks"])):
            where = str(facts.get("topology", "simulated")).replace("\n", " ")[:60]
            yield f"#  Rank {r:2d} Group  0 Pid      0 on    collsim device {r:2d} [0000:00:00] {where}\n"
        if facts.get("algorithm"):
            yield f"# Simulated by collsim: {facts['algorithm']}\n"
        yield _HEAD
        for row in rows:
            yield _format_line(row)
        yield "# Out of bounds values : 0 OK\n"
        yield f"# Avg bus bandwidth    : {sum(_compute_bandwidths(r)[1] for r in rows) / len(rows) / _GB:g} \n#\n"
        yield f"# Collective test concluded: {test}\n\n"


_HEAD = read_package_file(__file__, "nccl_tests_head.txt")


def _format_line(row: Row) -> str:
    kind = get_collective(row["collective"])
    dtype = str(row.get("dtype") or "float32")
    short = next((t for t, ours in TYPES.items() if ours == dtype), "float")
    nbytes, count = _compute_size(row, dtype)
    redop = _format_redop(row, kind.reduces)
    root = int(_get_number(row, "root", {True: 0, False: -1}[kind.rooted]))
    halves = []
    for prefix in ("", "in_place_"):
        algbw, busbw = _compute_bandwidths(row, prefix)
        time = _get_number(row, f"{prefix}time", row["time"])
        wrong = _get_number(row, f"{prefix}wrong", 0.0 if not (prefix and kind.has_separate_result) else math.nan)
        wrong_text = f"{wrong:g}"
        if math.isnan(wrong):
            wrong_text = "N/A"
        halves.append(f"  {number(time / _US, 7)}  {number(algbw / _GB, 6)}  {number(busbw / _GB, 6)}  {wrong_text:>6}")
    return f"{nbytes:12d}  {count:12d}  {short:>8}  {redop:>6}  {root:6d}{''.join(halves)}\n"


def _format_redop(row: Row, reduces: bool) -> str:
    redop = row.get("redop")
    if isinstance(redop, str):
        return redop
    return {True: "sum", False: "none"}[reduces]


def _compute_size(row: Row, dtype: str) -> tuple[int, int]:
    """The size and count columns: what was read, or what nccl-tests would make of this size."""
    if row.get("count") is not None and row["count"] == row["count"]:
        return int(row["nbytes"]), int(row["count"])
    kind = get_collective(row["collective"])
    count, nbytes = kind.nccl_tests_count(int(row["nbytes"]), int(row["ranks"]), find_itemsize(dtype))
    if not count:
        return int(row["nbytes"]), count
    return nbytes, count


def _get_number(row: Row, name: str, default: float) -> float:
    value = row.get(name)
    if value is None or (value != value and "wrong" not in name):
        return default
    return float(value)


def _compute_bandwidths(row: Row, prefix: str = "") -> tuple[float, float]:
    """algbw and busbw: of the row, or from its time (nccl-tests doc/PERFORMANCE.md)."""
    time = _get_number(row, f"{prefix}time", float(row["time"]))
    algbw = _get_number(row, f"{prefix}algbw", row["nbytes"] / time if time else 0.0)
    return algbw, _get_number(row, f"{prefix}busbw", algbw * get_collective(row["collective"]).busbw(int(row["ranks"])))


def write_nccl_tests_json(table: pd.DataFrame, path: FilePath) -> None:
    """Write one table as `nccl-tests -J` does (version 3).

    Args:
        table: Of measurements, as `load` gives it.
        path: Of the file.

    Raises:
        CollsimError: It has several algorithms or topologies.
    """
    if len(groups := list(_group_rows(_select_measured_rows(table)))) > 1:
        message = (
            "nccl-tests' JSON holds one table, this one has {groups} (of algorithms, topologies ...); filter it first"
        )
        raise CollsimError(message, groups=len(groups))
    write_text(path, json.dumps(_build_document(*groups[0]), indent=2) + "\n")


def _build_document(facts: Row, rows: list[Row]) -> Row:
    results = [_as_result(row) for row in rows]
    mean = sum(r["out_of_place"]["bus_bw"] for r in results) / len(results)
    return {
        "version": 3,
        "start_time": "",
        "args": [next(t for t, c in TESTS.items() if c == facts["collective"])],
        "env": {},
        "nccl_version": 0,
        "config": {"devices": [_build_device(r) for r in range(int(facts["ranks"]))]},
        "results": results,
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": mean, "okay": "true"},
        "errors": [],
        "end_time": "",
    }


def _build_device(rank: int) -> Row:
    simulated = {"hostname": "collsim", "device": rank, "device_hex": "0000:00:00", "device_info": "simulated"}
    return {"rank": rank, "group": 0, "pid": 0, **simulated}


def _as_result(row: Row) -> Row:
    kind = get_collective(row["collective"])
    dtype = str(row.get("dtype") or "float32")
    nbytes, count = _compute_size(row, dtype)
    return {
        "size": nbytes,
        "count": count,
        "type": next((t for t, ours in TYPES.items() if ours == dtype), "float"),
        "redop": _format_redop(row, kind.reduces),
        "root": "0" if kind.rooted else "-1",
        "out_of_place": _build_figures(row, "") | {"nwrong": "0"},
        "in_place": _build_figures(row, "in_place_") | {"nwrong": "N/A" if kind.has_separate_result else "0"},
    }


def _build_figures(row: Row, prefix: str) -> Row:
    algbw, busbw = _compute_bandwidths(row, prefix)
    time = _get_number(row, f"{prefix}time", float(row["time"]))
    return {"time": time / _US, "alg_bw": algbw / _GB, "bus_bw": busbw / _GB}


def _is_text_output(head: str) -> bool:
    """Whether a text has a table, or the lines before one; the name of a test alone is that of a script or a letter."""
    return "nThread" in head or "out-of-place" in head or "Collective test starting" in head or _has_row(head)


def _has_row(head: str) -> bool:
    try:
        return any(_parse_row("", k, _TAG.sub("", line.strip())) for k, line in enumerate(head.splitlines()[:2000]))
    except FormatError:
        return True


register_built_in("nccl-tests", read=read_nccl_tests, write=write_nccl_tests, looks=_is_text_output)
register_built_in(
    "nccl-tests-json",
    read=read_nccl_tests_json,
    write=write_nccl_tests_json,
    looks=lambda head: ('"results"' in head and '"args"' in head) or '"out_of_place"' in head,
)
assert set(TESTS.values()) <= set(collectives())
