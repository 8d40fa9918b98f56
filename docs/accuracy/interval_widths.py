"""How wide an interval is: widths of each class of machine from residuals of runs whose system or kind was left out.

A class has the residuals of its systems, and a few systems' worth of those of all other classes, predicted without
their kind: so wide is a class of which nothing is known. A class of many systems decides for itself, one of few leans
on the others. Scales then make four in five measurements lie inside, on each side and in each band of sizes: one scale
where a class is known, from systems left out, one where it is not, from kinds left out, and between them by the share
that a class leans on others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from collsim.nccl.model.prediction_interval import LEVEL, SIDES, Side

Floats = npt.NDArray[np.float64]
#: Class of machine and group of collectives; the group is None for all of a class, the class "" for one of none.
Pair = tuple[str, str | None]
#: The rest of a time that nothing explains (two runs of one machine), how many systems' worth a class leans on all
#: other classes and a collective on its class, levels kept, passes that set the scales and how far these may go.
REST, LEAN, LEVELS, PASSES, MAX_SCALE = 0.035, 4.0, (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98), 4, 2.0
#: Systems from which on a class, and a group of collectives in it, has widths of its own; of MPI no group, whose rounds
#: are all counted.
MANY = 3
#: A kind of machine weighs its runs to this power where four in five are to lie inside: 1 counts runs, so that eighteen
#: NVSwitch boxes decide how wide TCP is, 0 counts kinds.
BALANCE = 0.35
#: Share of a variance that other sizes of the same run say nothing of: so that about four in five measurements lie
#: inside once one's own smallest and largest are known (`spreads.bought`).
SIZE_SHARE = 0.15
NORMAL = 1.2816  # standard deviations that hold nine in ten of a normal distribution on one side
PARTS = ("bytes", "fill", "latency")  # the part that decides each band, in the order of BANDS
COLUMNS = ("latency", "fill", "bytes")


class Residuals(NamedTuple):
    """Columns of a table of residuals, a part of the time each in `shares`, standard deviations of unknown inputs by
    side; `strange` where the whole kind was left out; what each row weighs."""

    run: npt.NDArray[Any]
    system: npt.NDArray[Any]
    kind: npt.NDArray[Any]
    group: npt.NDArray[Any]
    band: npt.NDArray[Any]
    off: Floats
    shares: Floats
    strange: npt.NDArray[np.bool_]
    inputs: dict[Side, Floats]
    weight: Floats

    @classmethod
    def read(cls, table: pd.DataFrame) -> Residuals:
        """Every run counts the same in every band, as the report counts."""
        rows = table.groupby(["left_out", "run", "band"])["run"].transform("size").to_numpy(float)
        names = (table[name].to_numpy() for name in ("run", "system", "kind", "group", "band"))
        inputs: dict[Side, Floats] = {side: table[side].to_numpy(float) for side in SIDES}
        shares, off = table[list(COLUMNS)].to_numpy(float), table.off.to_numpy(float)
        return cls(*names, off, shares, (table.left_out == "kind").to_numpy(), inputs, 1 / rows)

    def select(self, mine: npt.NDArray[Any]) -> Residuals:
        """The rows of a mask or of an index."""
        inputs: dict[Side, Floats] = {side: values[mine] for side, values in self.inputs.items()}
        return self._replace(
            **{name: getattr(self, name)[mine] for name in self._fields if name != "inputs"}, inputs=inputs
        )


class ClassSpread(NamedTuple):
    """Standard deviations of the three parts of a class by side, before scales; its systems; how much of it are
    others."""

    parts: dict[Side, Floats]
    systems: int
    leaning: float


class _Hidden(NamedTuple):
    """Rows whose system or kind is left out: standard deviations of the parts by side, and how much of them are
    others', from the rows that are not."""

    rows: Residuals
    parts: dict[Side, Floats]
    leaning: Floats


Scales = dict[Side, Floats]


def calibrate(rows: Residuals) -> dict[str, Any]:
    """Find the widths of each class and group, and how many of them cover which share.

    Args:
        rows: residuals of one family, each run without its system and without its kind.

    Returns:
        `FamilyWidths`.
    """
    strangers, hidden = _hide_kinds(rows), _hide_systems(rows)
    known, unknown = _find_scales(hidden, strangers)
    runs = len(set(hidden.rows.run.tolist()))
    levels = {f"{level:g}": min(1.0, (1 + level) / 2 * (runs + 1) / runs) for level in LEVELS}
    weight, quantiles = _balance(hidden.rows), {}
    for side in SIDES:
        scores = _score(hidden, side, known, unknown)
        quantiles[side] = {
            name: round(max(0.0, find_quantile(scores, weight, share)), 4) for name, share in levels.items()
        }
    classes = {}
    for pair in _list_pairs(rows):
        spread = measure_spread(rows, pair)
        widths = {side: _blend(known[side], unknown[side], spread.leaning) * spread.parts[side] for side in SIDES}
        entry: dict[str, Any] = {side: values.round(4).tolist() for side, values in widths.items()}
        classes[", ".join(part for part in pair if part)] = {**entry, "systems": spread.systems}
    return {"rest": REST, "size_share": SIZE_SHARE, "classes": classes, "quantiles": quantiles}


def find_quantile(values: Floats, weights: Floats, level: float) -> float:
    """Find the value below which a share of the weights lies.

    Args:
        values: in any order.
        weights: of each value.
        level: the share.

    Returns:
        One of the values.
    """
    order = np.argsort(values)
    heap = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(heap, level)), len(order) - 1)])


def compute_deviations(rows: Residuals, side: Side, parts: Floats) -> Floats:
    """Compute the standard deviation of each row on a side.

    Args:
        rows: residuals.
        side: towards shorter or longer times.
        parts: standard deviations of the three parts of each row.

    Returns:
        Standard deviations of the logarithm of the time.
    """
    result: Floats = np.sqrt(((rows.shares * parts) ** 2).sum(axis=1) + rows.inputs[side] ** 2 + REST**2)
    return result


# ---- widths of a class ----------------------------------------------------------------------------------------------


def _list_pairs(rows: Residuals) -> list[Pair]:
    """No class, each class, and each group of collectives of a class with many systems."""
    pairs: list[Pair] = [("", None)]
    for kind in sorted(set(rows.kind.tolist())):
        groups = sorted(set(rows.group[rows.kind == kind].tolist()))
        pairs += [(kind, None), *((kind, group) for group in groups if _has_own_group(rows, kind, group))]
    return pairs


def _has_own_group(rows: Residuals, kind: str, group: str) -> bool:
    return not kind.startswith("mpi") and _count_systems(rows, (rows.kind == kind) & (rows.group == group)) >= MANY


def _count_systems(rows: Residuals, mine: npt.NDArray[np.bool_]) -> int:
    return len(set(rows.system[mine & ~rows.strange].tolist()))


def measure_spread(rows: Residuals, pair: Pair) -> ClassSpread:
    """Measure how far the runs of a class spread, leaning on all other classes.

    Args:
        rows: residuals of one family.
        pair: class and group.

    Returns:
        The spread; that of no class where too few systems are known.
    """
    kind, group = pair
    systems = _count_systems(rows, rows.kind == kind)
    if systems < MANY:
        kind, group, leaning = "", None, 1.0
    else:
        leaning = LEAN / (systems + LEAN)
    own, others = (rows.kind == kind) & ~rows.strange, (rows.kind != kind) & rows.strange
    parts: dict[Side, Floats] = {side: np.ones(3) for side in SIDES}
    for band, part in enumerate(PARTS):
        here = rows.band == band
        index = [np.flatnonzero(own & here), np.flatnonzero(others & here)]
        weights = [_weigh_systems(rows, index[0]), _weigh_kinds(rows, index[1])]
        if group is not None:
            near = index[0][rows.group[index[0]] == group]
            share = LEAN / max(sum(each.sum() for each in weights), 1e-9)
            index, weights = [near, *index], [_weigh_systems(rows, near), *(share * each for each in weights)]
        chosen, weight = np.concatenate(index), np.concatenate(weights)
        for side in SIDES:
            if chosen.size:
                parts[side][COLUMNS.index(part)] = _find_width(rows, side, chosen, weight)
    return ClassSpread(parts, systems, leaning)


def _weigh_systems(rows: Residuals, index: npt.NDArray[np.intp]) -> Floats:
    """Weights of rows, one for each system in all."""
    weight = rows.weight[index]
    return weight * (len(set(rows.system[index].tolist())) / max(weight.sum(), 1e-9))


def _weigh_kinds(rows: Residuals, index: npt.NDArray[np.intp]) -> Floats:
    """Weights of rows, `LEAN` in all, each kind the same."""
    weight = _raise_weights(rows.kind[index], rows.weight[index], 0.0)
    return weight * (LEAN / max(weight.sum(), 1e-9))


def _raise_weights(names: npt.NDArray[Any], weight: Floats, power: float) -> Floats:
    """The same weights, with the sum of each name to a power."""
    _, number = np.unique(names.astype(str), return_inverse=True)
    result: Floats = weight * np.bincount(number, weight)[number] ** (power - 1) if weight.size else weight
    return result


def _find_width(rows: Residuals, side: Side, index: npt.NDArray[np.intp], weight: Floats) -> float:
    """Four fifths of what unknown inputs leave of the residuals lie within, as a standard deviation.

    Of both signs, since the sides of a few systems say little: the scales tell one side from the other.
    """
    left = np.sqrt(np.maximum(0.0, (rows.off[index] / NORMAL) ** 2 - rows.inputs[side][index] ** 2))
    return max(find_quantile(left, weight, LEVEL), REST / 2)


# ---- how many widths cover four in five -----------------------------------------------------------------------------


def _hide_systems(rows: Residuals) -> _Hidden:
    """Each system, with the widths of all others."""
    seen = [(rows.system == name) for name in sorted(set(rows.system.tolist()))]
    return _hide(rows, ((~mine, mine & ~rows.strange) for mine in seen))


def _hide_kinds(rows: Residuals) -> _Hidden:
    """Each class, with the widths of a class that is not known."""
    seen = [(rows.kind == name) for name in sorted(set(rows.kind.tolist()))]
    return _hide(rows, ((~mine, mine & rows.strange) for mine in seen))


def _hide(rows: Residuals, folds: Iterable[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]) -> _Hidden:
    """The rows of each second mask, with the widths that the rows of the first say."""
    index = [np.empty(0, np.intp)]
    parts: dict[Side, list[Floats]] = {side: [np.empty((0, 3))] for side in SIDES}
    leaning = [np.empty(0)]
    for shown, mine in folds:
        if not shown.any():
            continue
        seen = rows.select(shown)
        for kind, group in sorted(set(zip(rows.kind[mine].tolist(), rows.group[mine].tolist(), strict=True))):
            own = np.flatnonzero(mine & (rows.kind == kind) & (rows.group == group))
            spread = measure_spread(seen, (kind, group if _has_own_group(seen, kind, group) else None))
            index.append(own)
            leaning.append(np.full(len(own), spread.leaning))
            for side in SIDES:
                parts[side].append(np.tile(spread.parts[side], (len(own), 1)))
    stacked: dict[Side, Floats] = {side: np.concatenate(blocks) for side, blocks in parts.items()}
    return _Hidden(rows.select(np.concatenate(index)), stacked, np.concatenate(leaning))


def _find_scales(hidden: _Hidden, strangers: _Hidden) -> tuple[Scales, Scales]:
    """Scales of the parts where a class is known and where it is not, so that each band is covered as all are.

    A row left out counts for the first by what its class knows, for the second by what it leans on others.
    """
    known, unknown = ({side: np.ones(3) for side in SIDES} for _ in range(2))
    weight, far = _balance(hidden.rows), _balance(strangers.rows)
    for _ in range(PASSES):
        for side in SIDES:
            scores, others = _score(hidden, side, known, unknown), _score(strangers, side, known, unknown)
            for band, part in enumerate(PARTS):
                here, there = hidden.rows.band == band, strangers.rows.band == band
                leaning, k = hidden.leaning[here], COLUMNS.index(part)
                both = np.concatenate([scores[here], others[there]])
                leant = np.concatenate([weight[here] * leaning, _match(far[there], weight[here] * leaning)])
                near = (known, scores[here], weight[here] * (1 - leaning))
                for scale, values, weights in (near, (unknown, both, leant)):
                    if weights.sum() > 0:
                        found = find_quantile(values, weights, (1 + LEVEL) / 2) / NORMAL
                        scale[side][k] *= max(found, 1 / MAX_SCALE)
            for scale in (known, unknown):  # where a part decides nothing, its width is anything
                scale[side] = scale[side].clip(1 / MAX_SCALE, MAX_SCALE)
    return known, unknown


def _match(weights: Floats, others: Floats) -> Floats:
    """The weights, as many in all as the others."""
    return weights * (max(others.sum(), 1e-9) / max(weights.sum(), 1e-9))


def _balance(rows: Residuals) -> Floats:
    """Weights of rows with which a kind of machine of many runs does not decide for all, in each band."""
    result = np.zeros(len(rows.off))
    for band in range(len(PARTS)):
        here = rows.band == band
        result[here] = _raise_weights(rows.kind[here], rows.weight[here], BALANCE)
    return result


def _score(hidden: _Hidden, side: Side, known: Scales, unknown: Scales) -> Floats:
    """How many standard deviations each row is off towards a side."""
    parts = hidden.parts[side] * _blend(known[side], unknown[side], hidden.leaning[:, None])
    result: Floats = SIDES[side] * hidden.rows.off / compute_deviations(hidden.rows, side, parts)
    return result


def _blend(known: Floats, unknown: Floats, leaning: Floats | float) -> Floats:
    """A scale between both, by how much of a class are others."""
    result: Floats = known ** (1 - leaning) * unknown**leaning
    return result
