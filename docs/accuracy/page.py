"""docs/accuracy.md and docs/accuracy.zh.md, made from an Accuracy: the figures, the largest errors, every run."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from accuracy import crossval, crossval_mpi, later, origins, spreads
from accuracy.languages import LANGUAGES, Block, Table, Text
from accuracy.tables import join_tables

from collsim.nccl.measured.prediction_accuracy import (
    BANDS,
    Accuracy,
    PredictedRow,
    predict_rows,
    read_tables,
    summarize_accuracy,
)
from collsim.nccl.nccl_prediction import Prediction

#: A run's name, what is predicted for one of its calls, and the seconds it took.
Call = tuple[str, Prediction, float]
#: Sizes whose time is that of a call, not of its bytes.
_SMALL = BANDS[-2][1]
LIBRARIES = {"nccl": "NCCL and RCCL", "mpi": "MPI"}
#: Goals: median errors by library and size, what 80 % intervals cover, also of each kind of so many runs, and median
#: widths of the networks that are known best: those before whole kinds were left out.
ERROR_GOALS = {"nccl": (0.09, 0.28, 0.23), "mpi": (0.30, 0.45, 0.45)}
COVER_GOAL, COVER_WORDS, MANY_RUNS = (0.72, 0.90), "72% to 90%", 10
#: Draws of systems for what chance alone would cover.
_DRAWS = 2_000
WIDTH_GOALS = {
    ("NVSwitch node (A100)", 0): 1.20,
    ("NVSwitch node (A100)", 1): 2.24,
    ("NVSwitch node (A100)", 2): 3.50,
    ("NVSwitch node (H100/H200/H800)", 0): 1.18,
    ("NVSwitch node (B200)", 0): 1.18,
    ("multi-node, InfiniBand or 400G NIC", 0): 2.07,
    ("multi-node, InfiniBand or 400G NIC", 1): 3.23,
    ("multi-node, InfiniBand or 400G NIC", 2): 3.08,
}
#: What is left out, and how the page says it.
_LEFT_OUT = {"system": "systems", "kind": "kinds of machine", "gpu": "GPUs", "source": "sources"}


def blocks(
    result: Accuracy,
    predicted: Sequence[PredictedRow],
    described: pd.DataFrame,
    blind: Mapping[str, Accuracy] | None = None,
    mpi_blind: Mapping[str, Accuracy] | None = None,
) -> dict[str, Block]:
    """What fills the page. `found` are the rows behind `result`, `blind` and `mpi_blind` the results of
    `crossval.cross_validate` and `crossval_mpi.cross_validate` by column left out."""
    calls = [(case_id, p, seconds) for case_id, p, seconds in predicted if isinstance(p, Prediction)]
    return {
        **of_result(result, described),
        "blind": Text("left_out", {"tables": _blind(blind, "nccl")}) if blind else "",
        "intervals": _intervals() if blind else "",
        "kinds": _kinds() if blind else "",
        "later": build_later(),
        "mpi_blind": _mpi_blind(mpi_blind, result, described) if mpi_blind else "",
        "differences": _build_separate(calls, described),
        "floors": _floors(calls),
        "constants": _constants(calls, described),
    }


def of_result(result: Accuracy, described: pd.DataFrame) -> dict[str, Block]:
    """The blocks that need nothing but the accuracy itself."""
    return {
        "runs": len(described),
        "rows": len(result.predictions),
        "bands": _bands(result, "nccl"),
        "mpi": _bands(result, "mpi", tuner=False),
        "effects": _effects(result),
        "misses": _misses(result, described),
        "failed": _failed(result),
        "table": _every(result, described),
    }


def _intervals() -> Block:
    """How many measurements lie inside, and what one's own buy; nothing where no residuals are kept."""
    if not spreads.TABLE.exists():
        return ""
    table = pd.read_csv(spreads.TABLE)
    system, kind = (spreads.covered(table, left_out) for left_out in ("system", "kind"))
    rows = [
        [LIBRARIES[near.library], BANDS[near.band][0], near.runs, *_cover_cells(near), *_cover_cells(far)]
        for near, far in zip(system.itertuples(), kind.itertuples(), strict=True)
    ]
    head = ["covered, system left out", "slower", "high / low", "covered, kind left out", "slower", "high / low"]
    bought = [[r.points, r.runs, f"{r.error:.1%}", f"{r.covered:.0%}", f"{r.wide:.2f}"] for r in spreads.bought(table)]
    tables: dict[str, Block] = {
        **_goals(table),
        **_compare_with_chance(table),
        "table": Table(["library", "size", "runs", *head], rows),
        "worth": Table(["points", "runs", "median error", "covered", "high / low"], bought),
    }
    return Text("intervals", tables)


def _goals(table: pd.DataFrame) -> dict[str, Block]:
    """The goals for errors and intervals of runs left out that are not reached, the farthest off first; how many there
    are, and how many are reached."""
    rows: list[tuple[float, list[str]]] = []

    def add(goal: str, aim: str, now: float, least: float, most: float, text: str = "{:.0%}") -> None:
        off = max(least - now, now - most, 0.0) / most
        rows.append((off, [goal, aim, text.format(now)]))

    for left_out, words in (("system", "system left out"), ("kind", "kind left out")):
        for near in spreads.covered(table, left_out).itertuples():
            library, size = LIBRARIES[near.library], BANDS[near.band][0]
            most = ERROR_GOALS[near.library][near.band]
            add(f"{library}, {size}: median error, {words}", f"{most:.0%}", near.error, 0.0, most)
            add(f"{library}, {size}: covered, {words}", COVER_WORDS, near.covered, *COVER_GOAL)
        kinds = spreads.covered(table, left_out, ("machine",))
        for near in kinds[kinds.runs >= MANY_RUNS].itertuples():
            add(f"{near.machine}, {BANDS[near.band][0]}: covered, {words}", COVER_WORDS, near.covered, *COVER_GOAL)
            if left_out == "system" and (near.machine, near.band) in WIDTH_GOALS:
                most = WIDTH_GOALS[near.machine, near.band]
                name = f"{near.machine}, {BANDS[near.band][0]}: high / low, {words}"
                add(name, f"{most:.2f}", near.high_over_low, 0.0, most + 0.005, "{:.2f}")
    missed = sorted((row for row in rows if row[0] > 0), key=lambda row: -row[0])
    missed_table = Table(["goal", "at most, or between", "now"], [cells for _, cells in missed])
    return {"goals": missed_table, "all_goals": len(rows), "reached": len(rows) - len(missed)}


def _compare_with_chance(table: pd.DataFrame) -> dict[str, Block]:
    """Of the shares that intervals cover of each kind, how many are within the goal, and how many would be if kinds did
    not differ: each system of a kind has the share of a system of its library and size, drawn at random."""
    rng, kinds, within, alike = np.random.default_rng(0), 0, 0, np.zeros(_DRAWS)
    for left_out in ("system", "kind"):
        rows = spreads.mark_covered(table, left_out)
        runs = rows.groupby(["library", "band", "machine", "system", "run"]).inside.mean()
        systems = runs.groupby(level=[0, 1, 2, 3]).agg(["mean", "size"]).reset_index()
        for _, pool in systems.groupby(["library", "band"]):
            for _, kind in pool.groupby("machine"):
                if (count := kind["size"].sum()) < MANY_RUNS:
                    continue
                drawn = rng.choice(pool["mean"], (_DRAWS, len(kind)), p=pool["size"] / pool["size"].sum())
                low, high = COVER_GOAL
                covered, shares = kind["mean"] @ kind["size"] / count, drawn @ kind["size"].to_numpy() / count
                kinds, within = kinds + 1, within + int(low <= covered <= high)
                alike += (low <= shares) & (shares <= high)
    least, most = np.percentile(alike, [10, 90])
    return {"kinds": kinds, "within": within, "alike_least": f"{least:.0f}", "alike_most": f"{most:.0f}"}


def _cover_cells(row: Any) -> tuple[str, str, str]:
    """Share of measurements inside the intervals and above, and the median width."""
    return f"{row.covered:.0%}", f"{row.above:.0%}", f"{row.high_over_low:.2f}"


def _bands(result: Accuracy, library: str, tuner: bool = True) -> Table:
    head = ["size", "runs", "median error", "runs within 1.25x", "1.6x", "rows within 1.25x", "1.6x", "NCCL's tuner"]
    shares = ("within_125", "within_16", "rows_125", "rows_16", "tuner_error")
    count = len(head) if tuner else -1
    rows = [
        [name, f"{row.runs:.0f}", f"{row.error:.1%}", *(f"{row[share]:.0%}" for share in shares)][:count]
        for name, row in result.summarize_bands(library).iterrows()
    ]
    return Table(head[:count], rows)


def _blind(results: Mapping[str, Accuracy], library: str) -> Block:
    names = {**_LEFT_OUT, **({"gpu": "kinds of buffer"} if library == "mpi" else {})}
    return [
        block
        for by, result in results.items()
        for block in (f"Without their {names[by]}:", _bands(result, library, tuner=False))
    ]


def _mpi_blind(results: Mapping[str, Accuracy], result: Accuracy, described: pd.DataFrame) -> Block:
    ours = described[described.case_id.isin(result.cases[result.cases.library == "mpi"].case_id)]
    counts: dict[str, Block] = {f"{by}s": int(ours[by].nunique()) for by in ("system", "gpu", "source")}
    return Text("mpi_left_out", {**counts, "tables": _blind(results, "mpi")})


def select_separate(calls: Sequence[Call], described: pd.DataFrame) -> pd.DataFrame:
    """Pairs of runs of different systems with the same words: first, second, band, and the log of the ratio of
    their times."""
    info = described.set_index("case_id")
    runs: dict[str, dict[int, float]] = {}
    alike: dict[Hashable, list[str]] = {}
    for case_id, p, seconds in calls:
        if case_id not in runs:
            case: Any = info.loc[case_id]
            alike.setdefault((replace(p.facts, gpu=""), p.collective, case.algo, case.proto), []).append(case_id)
        runs.setdefault(case_id, {})[p.nbytes] = seconds
    rows = []
    for a, b in (
        pair for names in alike.values() for pair in combinations(names, 2) if len(set(info.system[list(pair)])) == 2
    ):
        sizes, others = sorted(runs[a]), sorted(runs[b])
        times = np.interp(np.log(sizes), np.log(others), np.log([runs[b][n] for n in others]))
        off = {n: t - np.log(runs[a][n]) for n, t in zip(sizes, times, strict=True) if others[0] <= n <= others[-1]}
        for name, low, high in BANDS:
            if shared := [ratio for n, ratio in off.items() if low <= n < high]:
                rows.append((a, b, name, float(np.median(shared))))
    return pd.DataFrame(rows, columns=["first", "second", "band", "log_ratio"])


def _build_separate(calls: Sequence[Call], described: pd.DataFrame) -> Block:
    if "system" not in described:
        return ""
    rows = []
    for name, pairs in select_separate(calls, described).groupby("band", sort=False):
        off = pairs.log_ratio.abs()
        figures = (off.median(), off.median() / 2, off.max())
        rows.append([name, len(pairs), *(f"{np.expm1(figure):.0%}" for figure in figures)])
    return Table(["size", "pairs", "difference", "least error", "largest difference"], rows)


def _floors(calls: Sequence[Call]) -> str:
    """The smallest allreduce of eight GPUs on one NVSwitch, from run to run."""
    least: dict[str, float] = {}
    for case_id, p, seconds in calls:
        if (
            p.collective == "allreduce"
            and p.facts.has_nvswitch
            and (p.facts.ranks, p.facts.nodes) == (8, 1)
            and p.nbytes < _SMALL
        ):
            least[case_id] = min(seconds, least.get(case_id, seconds))
    if not least:
        return "as long as nobody measured in any run"
    return f"{min(least.values()) * 1e6:.0f} to {max(least.values()) * 1e6:.0f} us in {len(least)} runs"


def _constants(calls: Sequence[Call], described: pd.DataFrame) -> Table:
    system = described.set_index("case_id").system if "system" in described else None
    runs = [(case_id, "" if system is None else str(system[case_id])) for case_id, *_ in calls]
    rows = []
    for known in origins.table([crossval.sample(p, seconds) for _, p, seconds in calls], runs):
        behind = "" if known.runs is None else "none: its family's"
        if known.runs:
            behind = f"runs: {known.runs}, systems: {known.systems}"
        rows.append([f"`{known.name}`", known.value, known.kind, known.source, behind])
    return Table(["constant", "value", "kind", "source or start of the fit", "behind it"], rows)


def _effects(result: Accuracy) -> Table:
    rows = [[r.effect, r.pairs, f"{r.sign:.0%}", f"{r.off:.1%}"] for r in result.summarize_effects().itertuples()]
    return Table(["effect", "pairs", "right sign", "error"], rows)


def _misses(result: Accuracy, described: pd.DataFrame) -> Table:
    info = described.set_index("case_id")
    rows = []
    for row in result.sort_by_error().head(25).itertuples():
        note = str(info.loc[str(row.case_id)].get("note", "")).replace("|", "/")[:160]
        rows.append([row.case_id, row.kind, row.band, f"{row.ratio:.2f}", note])
    return Table(["run", "machine", "size", "predicted / measured", "the table says"], rows)


def _failed(result: Accuracy) -> Block:
    if not result.failures:
        return "Every run of the table could be predicted."
    return Table(["not predicted", "why"], [[case, reason] for case, reason in result.failures.items()])


def _kinds() -> Block:
    """By kind of machine, the farthest off first: errors and intervals without a run's system and without its kind."""
    table = pd.read_csv(spreads.TABLE)
    system, kind = (
        spreads.covered(table, left_out, ("machine",)).set_index(["machine", "band"]) for left_out in ("system", "kind")
    )
    order = kind.groupby("machine").error.max().sort_values(ascending=False)
    rows = []
    for machine in order.index:
        for band in sorted(system.loc[machine].index):
            near, far = system.loc[(machine, band)], kind.loc[(machine, band)]
            cells = [text for each in (near, far) for text in _error_cells(each)]
            rows.append([machine, BANDS[band][0], f"{near.runs:.0f}", *cells])
    head = ["machine", "size", "runs"]
    covers = ["covered", "slower", "high / low"]
    return Table([*head, "error, system left out", *covers, "error, kind left out", *covers], rows)


def build_later() -> Text:
    """The runs that were collected afterwards: before anybody looked at them and now, and by kind of machine."""
    before, now = (later.summarize_later(first, "library") for first in (True, False))
    rows = [
        [LIBRARIES[was.library], BANDS[was.band][0], was.runs, *_error_cells(was), *_error_cells(is_now)]
        for was, is_now in zip(before.itertuples(), now.itertuples(), strict=True)
    ]
    covers = ["covered", "slower", "high / low"]
    kinds = [
        [each.machine, BANDS[each.band][0], each.runs, *_error_cells(each)]
        for each in later.summarize_later(True, "machine").itertuples()
    ]
    cases = pd.read_csv(later.CASES)
    blocks: dict[str, Block] = {
        "count": len(cases),
        "systems": int(cases.system.nunique()),
        "bands": Table(["library", "size", "runs", "error, before", *covers, "error, now", *covers], rows),
        "kinds": Table(["machine", "size", "runs", "median error", *covers], kinds),
    }
    return Text("later", blocks)


def _error_cells(row: Any) -> tuple[str, ...]:
    """The median error, the share of measurements inside the intervals and above, and the median width."""
    return f"{row.error:.0%}", *_cover_cells(row)


def _every(result: Accuracy, described: pd.DataFrame) -> Table:
    info = described.set_index("case_id")
    rows = []
    for case_id, group in result.cases.groupby("case_id", sort=True):
        ratios = {row.band: f"{row.ratio:.2f}" for row in group.itertuples()}
        case: Any = info.loc[str(case_id)]
        said = f"{case.ranks}x {case.gpu}, {case.nodes} node" + ("s" if case.nodes != "1" else "")
        source = f"[source]({case['source']})" if str(case.get("source", "")).startswith("http") else ""
        figures = [ratios.get(name, "") for name, *_ in BANDS]
        rows.append([case_id, case.collective, said, group.algorithm.iloc[0], *figures, source])
    return Table(["run", "collective", "machine", "algorithm", *(name for name, *_ in BANDS), ""], rows)


def write_page(folder: str | Path, path: str | Path, every: bool = False) -> Accuracy:
    """Make the page of the tables in a folder, and the Chinese one beside it. Systems and kinds left out come from the
    factors that `spreads` kept; `every` leaves GPUs and sources out too, which takes long: each in a process of its
    own."""
    with TemporaryDirectory() as into:
        cases, measured = join_tables(folder, into)
        described, rows, unread = read_tables(cases, measured)
        predicted, failed = predict_rows(described, rows)
        result = summarize_accuracy(predicted, described, rows, {**failed, **unread})
        deviations = spreads.residuals(folder, spreads.read_factors())
        unseen, mpi_unseen = dict(deviations.nccl), dict(deviations.mpi)
        with ProcessPoolExecutor() as pool:
            more = [by for by in _LEFT_OUT if every and by not in unseen]
            runs = {by: pool.submit(crossval.cross_validate, cases, measured, by) for by in more}
            over_mpi = {by: pool.submit(crossval_mpi.cross_validate, cases, measured, by) for by in more}
            unseen |= {by: run.result() for by, run in runs.items()}
            mpi_unseen |= {by: run.result() for by, run in over_mpi.items()}
    whole = Text("accuracy", blocks(result, predicted, described, unseen, mpi_unseen))
    for language in LANGUAGES:
        target = Path(path) if language == "en" else Path(path).with_suffix(f".{language}.md")
        target.write_text(whole.markdown(language), encoding="utf-8")
    return result


if __name__ == "__main__":
    import sys

    write_page(sys.argv[1], sys.argv[2], every="--all" in sys.argv)
