"""How wrong are we? Predict every row of a table of published runs from its machine's words, and say how far off that
was.

A run's machine is built from the columns that describe it (`gpu`, `ranks`, `nodes`, `intra_link`, `inter_link`, `gdr`,
`algo`, `proto`, `collective`); `case_id`, `system` and `source` are never read by a prediction. Times are compared, not
bandwidths, and an error is max(predicted / measured, measured / predicted) - 1. The report weighs by run: the median
over a run's rows, then over runs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...errors import CollsimError, FormatError, require_path
from ...errors.arguments import check_arguments
from ...files import format_csv, require_writable_file, write_text
from ..libraries import mpi
from ..machine.machine_words import parse_facts
from ..model.prediction_interval import LEVEL, Interval, Shares, compute_interval, compute_shares
from ..model.relative_error import BANDS, compute_relative_error
from ..model.releases import NEWEST, OLDEST
from ..nccl_prediction import Prediction, parse_collective, predict
from ..search.constants import ALGORITHMS

if TYPE_CHECKING:
    import pandas as pd

#: A row of a table: its values by column.
_TableRow: TypeAlias = "pd.Series[Any]"
#: Columns that a prediction reads; those that a table may lack, and what they say then.
_DESCRIBES = ("gpu", "ranks", "nodes", "collective", "intra_link", "inter_link")
_UNSAID = {"gdr": "", "algo": "auto", "proto": "auto", "launch": "", "nccl_version": ""}
#: Largest size and number of ranks that a table may say; beyond them it is a slip.
_LARGEST, _MAX_RANKS = 2**50, 2**24
#: Columns of the ends of an interval.
_ENDS = ("time_us_low", "time_us_high")
#: Columns of the summary of a run in one class of sizes.
_CASE_COLUMNS = "case_id library kind band rows error ratio within_1.25 within_1.6 tuner_error algorithm"
_LIBRARY = {"nccl": "NCCL and RCCL", "mpi": "MPI (OSU)"}
_NODES = "more nodes"
#: Pairs that differ in another thing than the number of nodes, together.
OTHER_THAN_NODES = "all but more nodes"
_EFFECTS = {
    "P2P off, other wiring": "intra_link",
    "GPUDirect RDMA off": "gdr",
    "another algorithm": "algo",
    _NODES: "nodes",
}


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What was predicted and how far off it was.

    Attributes:
        predictions: a row per measured row that could be predicted: case_id, size_bytes, time_us_pred, algorithm,
            protocol, and the ends of the interval that covers four in five: time_us_low, time_us_high.
        cases: a row per run and band: kind, library, median `relative_error` (0.1 is 10 %), ratio predicted / measured,
            shares within 1.25x, 1.6x.
        effects: pairs of runs that differ in one thing: measured and predicted ratio of times.
        failures: case_id, or case_id and line of a measured row -> why it could not be predicted.
        notes: what a prediction had to assume -> the runs it was assumed for.

    Examples:
        >>> import collsim as cs
        >>> with open("cases.csv", "w") as file:
        ...     print("case_id,gpu,ranks,nodes,collective,intra_link,inter_link", file=file)
        ...     print("mine,A100-SXM4,8,1,allreduce,nvlink3-nvswitch,none", file=file)
        >>> with open("measured.csv", "w") as file:
        ...     print("case_id,size_bytes,time_us", file=file)
        ...     print("mine,1048576,38", file=file)
        >>> accuracy = cs.nccl.evaluate_accuracy("cases.csv", "measured.csv")
        >>> accuracy.predictions.algorithm.tolist()
        ['Ring']
    """

    predictions: pd.DataFrame
    cases: pd.DataFrame
    effects: pd.DataFrame
    failures: Mapping[str, str]
    notes: Mapping[str, tuple[str, ...]]

    def summarize_bands(self, library: str = "nccl") -> pd.DataFrame:
        """By size band: runs, median `relative_error`, share of runs whose median ratio is within 1.25 and 1.6.

        Args:
            library: `nccl` or `mpi`: whose runs count.
        """
        chosen = self.cases[self.cases.library == library]
        return _summarize(chosen, "band").reindex([b for b, *_ in BANDS]).dropna(subset=["runs"])

    def summarize_kinds(self, library: str = "nccl") -> pd.DataFrame:
        """The same by kind of machine and band.

        Args:
            library: `nccl` or `mpi`: whose runs count.
        """
        return _summarize(self.cases[self.cases.library == library], ["kind", "band"])

    def summarize_effects(self) -> pd.DataFrame:
        """By effect, then of all pairs that differ in another thing than the number of nodes, then of all: pairs, share
        predicted with the right sign, median `relative_error` of the predicted ratio of times."""
        from ...errors.dependencies import pandas as pd

        pairs = self.effects.astype({"sign": bool, "off": float})
        groups = [(name, rows) for name, rows in pairs.groupby("effect")]
        groups += [(OTHER_THAN_NODES, pairs[pairs.effect != _NODES]), ("all", pairs)]
        rows = [(name, len(g), g.sign.mean(), g.off.median()) for name, g in groups if len(g)]
        return pd.DataFrame(rows, columns=["effect", "pairs", "sign", "off"])

    def sort_by_error(self, library: str | None = None) -> pd.DataFrame:
        """Sort runs by how far the prediction is off, the farthest first, whether too fast or too slow.

        Args:
            library: `nccl` or `mpi`; None for both.

        Returns:
            The rows of `cases`.
        """
        chosen = self.cases
        if library is not None:
            chosen = self.cases[self.cases.library == library]
        return chosen.sort_values("ratio", ascending=False, key=lambda ratio: np.abs(np.log(ratio.astype(float))))

    def __str__(self) -> str:
        return format_report(self)


@check_arguments
def evaluate_accuracy(cases: str | Path, measured: str | Path, out: str | Path | None = None) -> Accuracy:
    """Predict measured runs from the words that describe their machines, and compare.

    Args:
        cases: CSV with the machine words of each run: case_id, gpu, ranks, nodes, collective, intra_link, inter_link,
            and perhaps gdr, algo, proto, launch and nccl_version.
        measured: CSV with columns case_id, size_bytes and time_us; a blank time is predicted and not compared.
        out: CSV for the predictions; None writes none.

    Returns:
        Predictions and their errors; a run that cannot be predicted, and a row that cannot be read, is named in
        `failures`.

    Raises:
        FormatError: For a file that is not there, lacks a column or has no row that can be read; a run that cannot be
            predicted, and a row that cannot be read, is named in `failed`.

    Examples:
        >>> import collsim as cs
        >>> with open("cases.csv", "w") as file:
        ...     print("case_id,gpu,ranks,nodes,collective,intra_link,inter_link", file=file)
        ...     print("mine,A100-SXM4,8,1,allreduce,nvlink3-nvswitch,none", file=file)
        >>> with open("measured.csv", "w") as file:
        ...     print("case_id,size_bytes,time_us", file=file)
        ...     print("mine,1048576,38", file=file)
        >>> accuracy = cs.nccl.evaluate_accuracy("cases.csv", "measured.csv")
        >>> len(accuracy.predictions), accuracy.failures
        (1, {})
    """
    if out is not None:
        require_writable_file(require_path(out, "out"))
    described, rows, unread = read_tables(cases, measured)
    predicted, failed = predict_rows(described, rows)
    result = summarize_accuracy(predicted, described, rows, {**failed, **unread})
    if out is not None:
        write_text(out, format_csv(result.predictions))
    return result


#: A measured row: its run, what we predict (seconds alone for MPI), and the seconds it took.
PredictedRow = tuple[str, "Prediction | MpiPrediction", float]


@dataclass(frozen=True)
class MpiPrediction:
    """Time that a collective over MPI takes. It has the fields of `Prediction` that tables of both need.

    Attributes:
        nbytes: bytes of the whole buffer.
        time: s.
        algorithm: `MPI`, and the library's name of the algorithm that the time is of (`mpi.name_algorithm`), where
            there is one.
        protocol: empty; MPI has none.
        tuner_time: None; MPI has no tuner that states a time.
        notes: empty; a prediction of MPI states no assumptions.
        parts: s that wait, that move bytes, and that lie between; None: then `shares` are those of a time of 0.
        kind: class of machine whose errors make the interval (`mpi.classify_case`), `mpi host`.
        collective: collsim's name of it, by which the interval is chosen.
    """

    nbytes: int
    time: float
    algorithm: str = "MPI"
    protocol: str = ""
    tuner_time: float | None = None
    notes: tuple[str, ...] = ()
    parts: mpi.MpiParts | None = None
    kind: str = "mpi"
    collective: str = ""

    @property
    def shares(self) -> Shares:
        """Parts of the time that wait, are as much the one as the other, and move bytes."""
        if self.parts is None:
            return compute_shares(0.0, 0.0, 0.0)
        return self.parts.shares

    def interval(self, level: float = LEVEL) -> Interval:
        """Where the measured time lies with a probability of `level`."""
        return compute_interval(self.kind, self.collective, self.shares, self.time, level)


def read_tables(cases: str | Path, measured: str | Path) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Read and check the two tables.

    Args:
        cases: Path of the table of runs, a line each.
        measured: Path of the table of times, a line for each run and size.

    Returns:
        Runs; rows that can be read (a time left blank is NaN: its row is predicted and not compared); and "case_id,
        line" of the other rows with the reason.

    Raises:
        FormatError: A table cannot be read, lacks a column, or has no row that can be read.
    """
    from ...errors.dependencies import pandas as pd

    described = _read_table(cases, ("case_id", *_DESCRIBES))
    # A run that stands twice would be counted twice.
    duplicates = described.case_id[described.case_id.duplicated()]
    if len(duplicates):
        message = "{cases}: case_id {value!r} stands on several lines; give every run a name of its own"
        raise FormatError(message, cases=cases, value=duplicates.iloc[0])
    described = described.assign(
        ranks=described.ranks.map(_strip_point),
        nodes=described.nodes.map(_strip_point),
        **{column: words for column, words in _UNSAID.items() if column not in described},
    )
    rows = _read_table(measured, ("case_id", "size_bytes", "time_us"))
    sizes, times = (pd.to_numeric(rows[column], errors="coerce") for column in ("size_bytes", "time_us"))
    # Beyond this a float has no whole numbers.
    is_valid_size = (sizes > 0) & (sizes <= _LARGEST) & (sizes == np.floor(sizes))
    timed = (times > 0) & np.isfinite(times) | (rows.time_us.str.strip() == "")
    wrong = {
        "size_bytes": (is_valid_size, f"a whole number from 1 to 2**{_LARGEST.bit_length() - 1}"),
        "time_us": (timed, "a positive number"),
    }
    unread = {
        f"{rows.case_id[i]}, line {i + 2}": f"{column}={rows[column][i]!r} is not {requirement}"
        for column, (is_valid, requirement) in wrong.items()
        for i in np.flatnonzero(~is_valid)
    }
    if len(rows) and not (is_valid_size & timed).any():
        raise FormatError(
            "{measured}: no row can be read; {first}", measured=measured, first=": ".join(next(iter(unread.items())))
        )
    rows = rows.assign(size_bytes=sizes, time_us=times)[is_valid_size & timed]
    return described, rows.astype({"size_bytes": np.int64, "time_us": float}), unread


def _strip_point(number: str) -> str:
    """`8` for the `8.0` of a table that was edited elsewhere; what is no whole number stays, for a sentence about its
    run."""
    try:
        value = float(number)
    except ValueError:
        return number
    if value.is_integer():
        return str(int(value))
    return number


def predict_rows(described: pd.DataFrame, rows: pd.DataFrame) -> tuple[list[PredictedRow], dict[str, str]]:
    """Predict measured rows.

    Args:
        described: The runs, as `read_tables` has them.
        rows: Rows with their sizes and times.

    Returns:
        A prediction per row, and the runs that could not be predicted with the reason.
    """
    predicted: list[PredictedRow] = []
    failed = {}
    of_run = dict(tuple(rows.groupby("case_id", sort=False)))
    for _, case in described.iterrows():
        try:
            predicted += _predict_case(case, of_run.get(case.case_id, rows[:0]))
        except CollsimError as error:
            failed[str(case.case_id)] = str(error)
    for case_id in sorted(set(rows.case_id) - set(described.case_id)):
        failed[str(case_id)] = "has measured rows, but no line in the table of cases"
    return predicted, failed


def summarize_accuracy(
    predicted: Sequence[PredictedRow], described: pd.DataFrame, rows: pd.DataFrame, failed: Mapping[str, str]
) -> Accuracy:
    """Summarize predicted rows.

    Args:
        predicted: Rows with predictions, as `predict_rows` has them.
        described: The runs, as `read_tables` has them.
        rows: Rows with their sizes and times, of which those flagged as outliers are left out.
        failed: Runs and rows that could not be predicted, with the reason.

    Returns:
        The report.
    """
    from ...errors.dependencies import pandas as pd

    table = [
        (
            run,
            p.nbytes,
            p.time * 1e6,
            p.algorithm,
            p.protocol,
            s * 1e6,
            np.nan if p.tuner_time is None else p.tuner_time * 1e6,
            *(1e6 * end for end in _get_interval_ends(p)),
        )
        for run, p, s in predicted
    ]
    columns = ["case_id", "size_bytes", "time_us_pred", "algorithm", "protocol", "time_us", "tuner_us", *_ENDS]
    predictions = pd.DataFrame(table, columns=columns)
    usable = _select_usable(predictions, rows)
    compact = predictions.drop(columns=["time_us", "tuner_us"])
    return Accuracy(
        compact, _summarize_cases(usable, described), _list_effects(usable, described), failed, _group_notes(predicted)
    )


def _get_interval_ends(p: Prediction | MpiPrediction) -> tuple[float, float]:
    known = p.interval()
    return known.low, known.high


def _group_notes(rows: Sequence[PredictedRow]) -> dict[str, tuple[str, ...]]:
    runs: dict[str, dict[str, None]] = {}
    for run, prediction, _ in rows:
        for note in prediction.notes:
            runs.setdefault(note, {})[run] = None
    return {note: tuple(cases) for note, cases in runs.items()}


def _read_table(path: str | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    from ...errors.dependencies import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise FormatError("{path}: cannot be read as a CSV table: {error}", path=path, error=error) from error
    if len(table.columns) == 1 and ";" in table.columns[0]:
        raise FormatError("{path}: its columns are separated by semicolons; save it with commas", path=path)
    if missing := [c for c in columns if c not in table]:
        message = "{path}: has no column {missing}; it has {columns}"
        raise FormatError(
            message, path=path, missing=", ".join(map(repr, missing)), columns=", ".join(map(str, table.columns))
        )
    return table.fillna("")  # a line that ends early


def _predict_case(case: _TableRow, rows: pd.DataFrame) -> list[PredictedRow]:
    """The rows of one run. Raises CollsimError where the run's words are not understood."""
    run, sizes = str(case.case_id), [int(size) for size in rows.size_bytes]
    seconds = [float(t) * 1e-6 for t in rows.time_us]
    ranks, nodes = _parse_whole(case, "ranks"), _parse_whole(case, "nodes")
    if find_library(case) == "mpi":
        of_size: dict[int, Prediction | MpiPrediction] = {size: _predict_mpi(case, size) for size in set(sizes)}
    else:
        machine = parse_facts(
            case.gpu, ranks, nodes, case.intra_link, case.inter_link, case.gdr, case.get("launch", "")
        )
        of_size = {size: _predict_pinned(case, machine, size) for size in set(sizes)}
    return [(run, of_size[size], s) for size, s in zip(sizes, seconds, strict=True)]


def _predict_mpi(case: _TableRow, size: int) -> MpiPrediction:
    parts, algorithm = mpi.predict_mpi_parts(case, size), f"MPI {mpi.name_algorithm(case, size)}".strip()
    kind, collective = mpi.classify_case(case), parse_collective(case.collective)
    return MpiPrediction(size, parts.total, algorithm, parts=parts, kind=kind, collective=collective)


def find_library(case: _TableRow) -> str:
    """Find the library that a run measured: `mpi` for OSU collectives over MPI, and wherever there is no GPU; else
    `nccl`.

    Args:
        case: A row of the table of runs: algo, gpu.

    Returns:
        The library.
    """
    algo, gpu = str(case.algo).strip().lower(), str(case.gpu).strip().lower()
    if algo.startswith("mpi") or algo in ("", "n/a") or gpu.startswith("none"):
        return "mpi"
    return "nccl"


def _parse_whole(case: _TableRow, column: str) -> int:
    try:
        value = float(case[column])
    except ValueError as error:
        raise CollsimError("{column}={value!r} is not a whole number", column=column, value=case[column]) from error
    if not 1 <= value <= _MAX_RANKS or value != int(value):
        message = "{column}={value!r} is not a whole number from 1 to {most:,}"
        raise CollsimError(message, column=column, value=case[column], most=_MAX_RANKS)
    return int(value)


def _predict_pinned(case: _TableRow, machine: Any, size: int) -> Prediction:
    """The prediction with the algorithm and protocol that the run pinned; where NCCL has it not here, what it would
    choose."""
    algo = case.algo
    if case.algo.lower() == "auto":
        algo = ""
    proto = case.proto
    if case.proto.lower() in ("auto", "", "n/a"):
        proto = ""
    if parse_collective(case.collective) in ("alltoall", "sendrecv"):
        algo = proto = ""
    version = None
    if not machine.is_amd:
        version = _parse_table_version(str(case.get("nccl_version", "")))
    # "NVLS" in a table means either form: within nodes, or with a tree between them.
    choices = [algo] if algo else []
    if algo.lower() == "nvls":
        choices = [algo, "NVLSTree"]
    for choice in choices:
        try:
            return predict(case.collective, machine, size, NCCL_ALGO=choice, NCCL_PROTO=proto, version=version)
        except CollsimError:
            continue
    free = predict(case.collective, machine, size, NCCL_PROTO=proto, version=version)
    if not algo:
        return free
    # An algorithm that NCCL lacks and one that this machine lacks are different notes.
    reason = "is no algorithm of NCCL"
    if algo.lower() in {name.lower() for name in ALGORITHMS}:
        reason = "does not run here"
    return replace(free, notes=(*free.notes, f"algo={algo!r} {reason}; predicted with what NCCL would choose"))


def _parse_table_version(text: str) -> str | None:
    """NCCL's version as a table says it, `2.29.2` or `2.12.12?`, the newest that is known for one that came later;
    None for `unknown` and other libraries."""
    match = re.match(r"2\.(\d{1,2})\b", text.strip())
    if match:
        return f"2.{min(max(int(match[1]), OLDEST), NEWEST)}"
    return None


def _select_usable(predictions: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows to compare: those with a time, and without those flagged as outliers."""
    predictions = predictions[predictions.time_us.notna()]
    if "flag" in rows:
        bad = rows[rows.flag.str.contains("outlier")]
        marked = set(zip(bad.case_id, bad.size_bytes, bad.time_us.round(6), strict=True))
        rounded = (round(t, 6) for t in predictions.time_us)
        keep = [key not in marked for key in zip(predictions.case_id, predictions.size_bytes, rounded, strict=True)]
        predictions = predictions[keep]
    return predictions.assign(
        ratio=predictions.time_us_pred / predictions.time_us, tuner=predictions.tuner_us / predictions.time_us
    )


def _summarize_cases(usable: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
    from ...errors.dependencies import pandas as pd

    info = described.set_index("case_id")
    summaries = []
    for name, low, high in BANDS:
        band = usable[(usable.size_bytes >= low) & (usable.size_bytes < high)]
        for case_id, rows in band.groupby("case_id", sort=False):
            case: Any = info.loc[case_id]
            if "kind" in info:
                kind = case["kind"]
            else:
                kind = case["intra_link"] + (f" / {case['inter_link']}" if case["nodes"] != "1" else "")
            # Errors are ratios, so they are compared as logarithms.
            off = np.abs(np.log(rows.ratio))
            summaries.append(
                {
                    "case_id": case_id,
                    "library": find_library(case),
                    "kind": kind,
                    "band": name,
                    "rows": len(rows),
                    "error": float(compute_relative_error(rows.ratio).median()),
                    "ratio": float(np.exp(np.log(rows.ratio).median())),
                    "within_1.25": float((off <= np.log(1.25)).mean()),
                    "within_1.6": float((off <= np.log(1.6)).mean()),
                    "tuner_error": float(compute_relative_error(rows.tuner).median()),
                    "algorithm": "/".join(sorted(set(rows.algorithm))),
                }
            )
    return pd.DataFrame(summaries, columns=_CASE_COLUMNS.split())


def _summarize(cases: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    off = np.abs(np.log(cases.ratio.astype(float)))
    marked = cases.assign(near=off <= np.log(1.25), far=off <= np.log(1.6))
    return marked.groupby(by, sort=False).agg(
        runs=("error", "size"),
        error=("error", "median"),
        within_125=("near", "mean"),
        within_16=("far", "mean"),
        rows_125=("within_1.25", "mean"),
        rows_16=("within_1.6", "mean"),
        tuner_error=("tuner_error", "median"),
    )


def _list_effects(usable: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
    """Pairs of runs on one system that differ in one thing; ratio of their times at the sizes they share."""
    from ...errors.dependencies import pandas as pd

    columns = ["effect", "first", "second", "measured", "predicted", "off", "sign"]
    if "system" not in described:
        return pd.DataFrame([], columns=columns)
    effects = []
    there = described[described.case_id.isin(usable.case_id)]
    nccl = there[[find_library(case) == "nccl" for _, case in there.iterrows()]]
    for _, group in nccl.groupby(["system", "collective"]):
        runs = [case for _, case in group.iterrows()]
        # Each pair of runs once; they must differ in one thing only to be an effect.
        for i, a in enumerate(runs):
            for b in runs[i + 1 :]:
                effect = _name_effect(a, b)
                ratio = None
                if effect:
                    ratio = _compute_ratio(usable, a.case_id, b.case_id)
                if effect and ratio:
                    real, ours = ratio
                    sign = abs(np.log(real)) < np.log(1.05) or (real > 1) == (ours > 1)
                    effects.append(
                        (effect, a.case_id, b.case_id, real, ours, float(compute_relative_error(ours / real)), sign)
                    )
    return pd.DataFrame(effects, columns=columns)


def _name_effect(a: _TableRow, b: _TableRow) -> str:
    """The one thing in which two runs differ, "" if none or more."""
    differ = [k for k in ("gpu", "ranks", "nodes", "intra_link", "inter_link", "gdr", "algo", "proto") if a[k] != b[k]]
    if differ == ["algo"] and {a.algo, b.algo} & {"auto"}:
        return ""
    if set(differ) == {"ranks", "nodes"} or (
        set(differ) == {"ranks", "nodes", "inter_link", "gdr"} and "1" in (a.nodes, b.nodes)
    ):
        per_node = {int(x.ranks) / int(x.nodes) for x in (a, b)}
        if len(per_node) == 1:
            return _NODES
        return ""
    if set(differ) == {"ranks", "nodes", "inter_link"} and "1" in (a.nodes, b.nodes):
        if int(a.ranks) / int(a.nodes) == int(b.ranks) / int(b.nodes):
            return _NODES
        return ""
    return next((name for name, column in _EFFECTS.items() if differ == [column]), "")


def _compute_ratio(usable: pd.DataFrame, first: str, second: str) -> tuple[float, float] | None:
    """Median over common sizes of time(second) / time(first), measured and predicted; None where they share no range of
    sizes."""
    a, b = (
        usable[usable.case_id == x].drop_duplicates("size_bytes").sort_values("size_bytes") for x in (first, second)
    )
    if len(a) and len(b):
        shared = a[(a.size_bytes >= b.size_bytes.min()) & (a.size_bytes <= b.size_bytes.max())]
    else:
        shared = a[:0]
    if not len(shared):
        return None
    sizes, known = np.log(shared.size_bytes), np.log(b.size_bytes)
    real = np.interp(sizes, known, np.log(b.time_us)) - np.log(shared.time_us)
    ours = np.interp(sizes, known, np.log(b.time_us_pred)) - np.log(shared.time_us_pred)
    return float(np.exp(np.median(real))), float(np.exp(np.median(ours)))


def format_report(result: Accuracy) -> str:
    """Write the report as text: bands, kinds of machine, effects, the worst runs, and those that could not be
    predicted.

    Args:
        result: The report.

    Returns:
        The text.
    """
    lines = []
    for key, title in _LIBRARY.items():
        runs = result.cases[result.cases.library == key]
        if len(runs):
            lines += [f"{title}: {runs.case_id.nunique()} runs", _format_bands(result.summarize_bands(key)), ""]
    lines += ["By kind of machine (NCCL and RCCL):", _format_kinds(result.summarize_kinds()), ""]
    if len(result.effects):
        lines += ["Effects, pairs of runs that differ in one thing:", _format_effects(result), ""]
    worst = result.sort_by_error("nccl").head(15).itertuples()
    lines += ["Farthest off:"] + [
        f"  {r.case_id:42s} {r.band:18s} {r.ratio:5.2f} x measured ({r.algorithm})" for r in worst
    ]
    lines += ["", f"Not predicted: {len(result.failures)}"] + [
        f"  {case}: {reason}" for case, reason in result.failures.items()
    ]
    lines += ["", "Assumed:"] * bool(result.notes) + [
        f"  {note}: {', '.join(runs)}" for note, runs in result.notes.items()
    ]
    return "\n".join(lines)


def _format_bands(bands: pd.DataFrame) -> str:
    head = (
        "  size               runs  median error  runs within 1.25x  1.6x   rows within 1.25x  1.6x   NCCL's tuner "
        "alone"
    )
    return "\n".join([head, *(_format_band(name, row) for name, row in bands.iterrows())])


def _format_band(name: Hashable, row: _TableRow) -> str:
    tuner = ""
    if not np.isnan(row.tuner_error):
        tuner = f"{row.tuner_error:17.0%}"
    by_run = f"{row.error:12.1%} {row.within_125:17.0%} {row.within_16:6.0%}"
    return f"  {name!s:18s} {row.runs:4.0f} {by_run} {row.rows_125:17.0%} {row.rows_16:7.0%}{tuner}"


def _format_kinds(kinds: pd.DataFrame) -> str:
    lines = []
    for key, row in kinds.iterrows():
        kind, band = key if isinstance(key, tuple) else (key, "")
        lines.append(f"  {kind!s:52s} {band!s:18s} {row.runs:4.0f} runs {row.error:8.1%}")
    return "\n".join(sorted(lines))


def _format_effects(result: Accuracy) -> str:
    lines = [
        f"  {row.effect:22s} {row.pairs:4d} pairs, right sign {row.sign:5.0%}, ratio off by {row.off:6.1%}"
        for row in result.summarize_effects().itertuples()
    ]
    wrong = result.effects[~result.effects.sign.astype(bool)].itertuples()
    return "\n".join(
        lines
        + [
            f"  wrong sign: {w.second} takes {w.measured:.2f} x the time of {w.first}, predicted {w.predicted:.2f} x"
            for w in wrong
        ]
    )
