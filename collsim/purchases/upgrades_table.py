"""`upgrades`: what every part that could be better would save, alone and in pairs, by the model that timed the run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from ..display.markup import align_columns, escape_text, format_table
from ..display.progress import open_progress
from ..errors import CollsimError, require_list, require_word
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import LANGUAGES, translate
from ..units import format_percent, format_time
from .part_changes import COMPUTING_PARTS, PART_NAMES, PartChange
from .part_prices import divide_by_price, parse_prices, sum_prices
from .timed_runs import AnyRun, TimedRun, wrap_run

#: Shares of the time below which a change is said to bring nothing worth buying.
_WORTH = 0.02
#: A dearer variant of a part that saves no more than this above a cheaper one is no better; a pair that saves no more
#: than this share of the time above the better of the two has no row.
_NO_MORE = 0.01
#: Prices from which on rows are ordered by what money brings.
_RANKED_BY_PRICE = 2
#: Seconds that are said to be none.
_NEGLIGIBLE_SECONDS = 1e-9


@dataclass(frozen=True)
class Upgrade:
    """One or two parts that could be better, and what they would save.

    Attributes:
        changes: the parts; two of a pair.
        run: the run with them.
        time: s that it takes.
        saved: s that it takes less.
        low: s that are saved at least, if the model errs before the change as after it; as `saved` without an interval.
        high: s that are saved at most.
        share: `saved` as a share of the time before.
        price: as the user gave it; None where nothing is known.
        more_than_alone: of a pair, s that it saves beyond the better of the two alone; 0 of one part.
        enough: the smaller step of the same part that saves as much; None where there is none.
        other_protocol: of better wires with which the time is longer, the protocols that NCCL chooses with them and
            without them; None where these are the same.

    Examples:
        >>> import collsim as cs
        >>> box = cs.machine("pcie-8gpu", nodes=2, nic="roce-25")
        >>> step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
        >>> first = cs.upgrades(step, parts=["nic"]).rows[0]
        >>> first.saved == step.time - first.run.time
        True
    """

    changes: tuple[PartChange, ...]
    run: AnyRun
    time: float
    saved: float
    low: float
    high: float
    share: float
    price: float | None = None
    more_than_alone: float = 0.0
    enough: PartChange | None = None
    other_protocol: tuple[str, str] | None = None

    @property
    def is_pair(self) -> bool:
        """Whether two parts are bought together."""
        return len(self.changes) > 1

    @property
    def is_free(self) -> bool:
        """Whether nothing has to be bought."""
        return all(change.is_free for change in self.changes)

    @property
    def per_thousand(self) -> float | None:
        """Seconds saved for 1,000 units of money; None without a price."""
        return divide_by_price(self.saved, self.price)

    @property
    def words(self) -> dict[str, object]:
        """The changes as keywords: of `Topology.with_`, and of `what_if` where they are of the step."""
        return {change.part: change.value for change in self.changes}

    def text(self, language: str = "en") -> str:
        """The parts, in words.

        Args:
            language: `en` or `zh`.
        """
        names = [change.text(language) for change in self.changes]
        if len(names) == 1:
            return names[0]
        return translate(language, "purchases", "pair", first=names[0], second=names[1])

    def __str__(self) -> str:
        return " + ".join(map(str, self.changes))


@dataclass(frozen=True, eq=False, repr=False)
class Upgrades:
    """What `upgrades` found.

    Attributes:
        run: the run as it is.
        time: s that it takes.
        computing_share: share of its time in which GPUs compute.
        rows: what could be better, the first to buy first: free settings, then by seconds saved, or by seconds for the
            money where two or more rows have a price. Of settings those that save time, and of
            pairs those that save more than the better of the two alone.
        refused: changes that cannot be made, with the reason.

    Examples:
        >>> import collsim as cs
        >>> run = cs.nccl.predict("allreduce", cs.machine("pcie-8gpu", nodes=2, nic="roce-25"), "256MiB")
        >>> table = cs.upgrades(run, parts=["nic"])
        >>> str(table.rows[0])
        'nic=roce-200'
    """

    run: AnyRun
    time: float
    computing_share: float
    rows: tuple[Upgrade, ...]
    refused: tuple[tuple[PartChange, CollsimError], ...] = ()

    @cached_property
    def worth_buying(self) -> tuple[Upgrade, ...]:
        """Rows that cost money and save more than 2 % of the time; none of which a smaller step is enough."""
        return tuple(row for row in self.rows if not row.is_free and row.share > _WORTH and row.enough is None)

    @property
    def free(self) -> tuple[Upgrade, ...]:
        """Settings that save time and cost nothing."""
        return tuple(row for row in self.rows if row.is_free and row.saved > 1e-3 * self.time)

    def explanation(self, language: str = "en") -> str:
        """What to change first, and what that leaves, in a few sentences.

        Args:
            language: `en` or `zh`.
        """
        return translate(language, "words", "sentences").join(self._list_sentences(language))

    def _list_sentences(self, language: str) -> Iterator[str]:
        def say(key: str, **values: object) -> str:
            return translate(language, "purchases", key, **values)

        if self.free:
            best = max(self.free, key=lambda row: row.saved)
            yield say("free", part=best.text(language), saved=format_time(best.saved), share=format_percent(best.share))
        singles = [row for row in self.worth_buying if not row.is_pair]
        # A pair counts only where it saves more than its better half by a margin that can be noticed.
        pairs = [row for row in self.worth_buying if row.is_pair and row.more_than_alone > _WORTH * self.time]
        if not singles and not pairs:
            if self.computing_share:
                yield say("nothing.computes", share=format_percent(self.computing_share))
            else:
                yield say("nothing")
            return
        # Wires are named as not worth it only where all that helps is faster computing.
        if self.computing_share and all(change.part in COMPUTING_PARTS for row in singles for change in row.changes):
            yield say("nothing.wires", share=format_percent(self.computing_share))
        if singles:
            yield say("first", **_describe_row(singles[0], self.time, language))
            if enough := [row for row in self.rows if row.enough is not None and row.enough == singles[0].changes[0]]:
                values = {"more": enough[0].text(language), "enough": singles[0].text(language)}
                yield say("enough", **values)
        if pairs:
            best_pair = max(pairs, key=lambda row: row.saved)
            alone = [_write_alone(row, language) for row in self._list_alone(best_pair)]
            separator = translate(language, "words", "semicolons")
            yield say("together", alone=separator.join(alone), **_describe_row(best_pair, self.time, language))

    def _list_alone(self, pair: Upgrade) -> list[Upgrade]:
        """The rows of its parts alone."""
        return [row for change in pair.changes for row in self.rows if row.changes == (change,)]

    def list_records(self) -> list[dict[str, object]]:
        """The rows as plain values in SI units: change, words, pair, free, time, saved, low, high, share, price,
        per_thousand, more_than_alone, enough, other_protocol."""
        return [
            {
                "change": str(row),
                "words": row.words,
                "pair": row.is_pair,
                "free": row.is_free,
                "time": row.time,
                "saved": row.saved,
                "low": row.low,
                "high": row.high,
                "share": row.share,
                "price": row.price,
                "per_thousand": row.per_thousand,
                "more_than_alone": row.more_than_alone,
                "enough": row.enough and str(row.enough),
                "other_protocol": row.other_protocol,
            }
            for row in self.rows
        ]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a table, with the columns of `list_records`."""
        return pd.DataFrame(self.list_records())

    def to_record(self) -> dict[str, object]:
        """All of it as plain values: time, computing_share, explanation by language, rows, and what was refused."""
        return {
            "time": self.time,
            "computing_share": self.computing_share,
            "explanation": {language: self.explanation(language) for language in LANGUAGES},
            "rows": self.list_records(),
            "refused": {str(change): str(error) for change, error in self.refused},
        }

    def to_json(self) -> str:
        """`to_record` as a JSON document."""
        return json.dumps(self.to_record(), ensure_ascii=False, indent=2)

    def list_cells(self, language: str = "en") -> list[dict[str, str]]:
        """The rows as people read them, a cell by its heading.

        Args:
            language: `en` or `zh`.
        """

        def head(key: str) -> str:
            return translate(language, "purchases", f"column.{key}")

        has_price = any(row.price is not None for row in self.rows)
        table = []
        for row in self.rows:
            cells = {head("part"): row.text(language), head("time"): format_time(row.time)}
            cells[head("saves")] = format_saving(row.saved)
            cells[head("range")] = ""
            # An interval narrower than what is shown would only repeat the saving.
            if row.high > row.low + _NEGLIGIBLE_SECONDS:
                cells[head("range")] = f"{format_saving(row.low)} … {format_saving(row.high)}"
            cells[head("note")] = self._write_note(row, language)
            if has_price:
                cells |= {head("price"): "", head("per_thousand"): ""}
            if row.price is not None and row.per_thousand is not None:
                cells |= {head("price"): f"{row.price:,g}", head("per_thousand"): format_saving(row.per_thousand)}
            table.append(cells)
        return table

    def _write_note(self, row: Upgrade, language: str) -> str:
        key, values = "", dict[str, object]()
        if row.is_free:
            key = "note.free"
        elif row.other_protocol is not None:
            key, values = "note.protocol", {"new": row.other_protocol[0], "old": row.other_protocol[1]}
        elif row.enough is not None:
            key, values = "note.enough", {"part": row.enough.text(language)}
        elif row.is_pair and row.more_than_alone > _WORTH * self.time:
            key, values = "note.together", {"more": format_time(row.more_than_alone)}
        elif row.share <= _WORTH:
            key = "note.nothing"
        if not key:
            return ""
        return translate(language, "purchases", key, **values)

    def __str__(self) -> str:
        cells = self.list_cells()
        lines = [self.explanation()]
        if cells:
            table = [list(cells[0]), *(list(row.values()) for row in cells)]
            lines.append(align_columns(table))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Upgrades of {format_time(self.time)}: {len(self.rows)} rows, {len(self.worth_buying)} worth buying>"

    def _repr_html_(self) -> str:
        cells = self.list_cells()
        body = f"<p>{escape_text(self.explanation())}</p>"
        if not cells:
            return body
        return body + format_table((row.values() for row in cells), cells[0])


def format_saving(seconds: float) -> str:
    """Seconds saved, with the sign of what happens to the time: "−97 ms"; "0" for none.

    Args:
        seconds: what is saved; below 0 where it takes longer.
    """
    if abs(seconds) < _NEGLIGIBLE_SECONDS:
        return "0"
    sign = "\N{MINUS SIGN}"
    if seconds < 0:
        sign = "+"
    return f"{sign}{format_time(abs(seconds))}"


def _write_alone(row: Upgrade, language: str) -> str:
    """What one part of a pair does by itself: "an NVLink board, 45.8 ms more"."""
    key = "alone.less"
    if abs(row.saved) < _NEGLIGIBLE_SECONDS:
        key = "alone.nothing"
    elif row.saved < 0:
        key = "alone.more"
    return translate(language, "purchases", key, part=row.text(language), time=format_time(abs(row.saved)))


def _describe_row(row: Upgrade, before: float, language: str) -> dict[str, object]:
    times = {"before": format_time(before), "after": format_time(row.time), "saved": format_time(row.saved)}
    return {"part": row.text(language), **times}


@check_arguments
def upgrades(
    run: AnyRun,
    parts: Sequence[str] | None = None,
    prices: Mapping[str, float] | None = None,
    *,
    progress: Callable[..., None] | bool | None = None,
) -> Upgrades:
    """Say what would save time: every part of the machine that could be better, alone and in pairs.

    Each change is run again, by the model that timed the run and with its intervals. Savings of parts do not add up, so
    pairs are run as pairs: the best variant of each part, and the largest step of each wire, with those of every other.
    Settings that cost nothing come first. More GPUs share the samples of the step.

    Args:
        run: what `training_step`, `simulate` or `nccl.predict` returned, on a machine.
        parts: names in `collsim.purchases.PART_NAMES` to look at; all unless given.
        prices: money by part (`"nic"`) or change (`"nic=roce-100"`), in any currency, for the whole machine. With two
            priced rows or more, rows are ordered by seconds saved for the money; those without a price come last.
        progress: True for a bar, or a function that is called with (changes done, in all, the row or None) after
            each.

    Returns:
        The rows, the explanation in every language, and the table.

    Raises:
        CollsimError: For what is no run on a machine, an unknown part, and a price that is not above 0.

    Examples:
        >>> import collsim as cs
        >>> box = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", nics=1, pcie=3)
        >>> step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
        >>> table = cs.upgrades(step, parts=["nic", "pcie"], prices={"nic": 2400, "pcie": 9000})
        >>> table.worth_buying[0].changes[0].part
        'nic'
    """
    timed = wrap_run(run)
    chosen = _parse_parts(parts)
    money = parse_prices(prices)
    changes = [change for change in timed.list_changes() if change.part in chosen]
    refused: list[tuple[PartChange, CollsimError]] = []
    rows: list[Upgrade] = []
    # Until the rows of single parts are known the number of pairs can only be estimated: one for each two parts.
    pair_count = math.comb(len({change.part for change in changes if change.is_of_machine}), 2)
    with open_progress(progress, "changes", "done", "in all", "row") as report_progress:
        for number, change in enumerate(changes, 1):
            row = _time_changes(timed, (change,), money, refused)
            # A setting that costs nothing and saves nothing is no row; a part that does not help is one, because it
            # warns.
            if row is None or (row.is_free and row.saved <= 0):
                row = None
            else:
                row = _mark_enough(row, rows)
                rows.append(row)
            if report_progress is not None:
                report_progress(number, len(changes) + pair_count, row)
        pairs = _list_pairs(rows)
        for number, (a, b) in enumerate(pairs, 1):
            row = _time_pair(timed, (a, b), rows, money, refused)
            if row is not None:
                rows.append(row)
            if report_progress is not None:
                report_progress(len(changes) + number, len(changes) + len(pairs), row)
    return Upgrades(run, timed.time, timed.computing_share, tuple(_order_rows(rows)), tuple(refused))


def _parse_parts(parts: Sequence[str] | None) -> Sequence[str]:
    if parts is None:
        return PART_NAMES
    if isinstance(parts, str):
        parts = [parts]
    require_list("parts", parts, "['nic', 'nvlink']")
    for part in parts:
        require_word("part", part, PART_NAMES)
    return parts


def _time_changes(
    timed: TimedRun,
    changes: tuple[PartChange, ...],
    money: Mapping[str, float],
    refused: list[tuple[PartChange, CollsimError]],
) -> Upgrade | None:
    """The row of these changes; None, and the reason in `refused`, where they cannot be."""
    try:
        changed = timed.apply(changes)
    except CollsimError as error:
        refused.append((changes[0], error))
        return None
    saved = timed.time - changed.time
    # The savings at both ends of the interval of the model: they bound what can be promised.
    ends = [before - after for before, after in zip(timed.ends, changed.ends, strict=True)]
    price = sum_prices(changes, money) or None  # settings alone have no price
    share = saved / max(timed.time, _NEGLIGIBLE_SECONDS)
    # Faster wires inside a node may make NCCL choose a protocol whose flags take part of a slow network's rate.
    other_protocol, has_more_gpus = None, any(change.part in COMPUTING_PARTS for change in changes)
    if share < -_WORTH and not has_more_gpus and changed.protocol != timed.protocol:
        other_protocol = changed.protocol, timed.protocol
    low, high = min(saved, *ends), max(saved, *ends)
    return Upgrade(
        changes, changed.run, changed.time, saved, low, high, share, price=price, other_protocol=other_protocol
    )


def _time_pair(
    timed: TimedRun,
    pair: tuple[Upgrade, Upgrade],
    rows: Sequence[Upgrade],
    money: Mapping[str, float],
    refused: list[tuple[PartChange, CollsimError]],
) -> Upgrade | None:
    """The row of two parts together; None where they save no more than the better one alone, or than a smaller pair:
    such rows would only fill the table."""
    a, b = pair
    row, alone = _time_changes(timed, (*a.changes, *b.changes), money, refused), max(a.saved, b.saved)
    if row is None or row.saved <= alone + _NO_MORE * timed.time or _is_bettered(row, rows):
        return None
    return replace(row, more_than_alone=row.saved - alone)


def _mark_enough(row: Upgrade, smaller: Sequence[Upgrade]) -> Upgrade:
    """The row with the smaller step of its part that saves as much, if there is one."""
    change = row.changes[0]
    for other in smaller:
        if other.changes[0].part == change.part and row.saved <= other.saved * (1 + _NO_MORE):
            return replace(row, enough=other.changes[0])
    return row


def _is_bettered(pair: Upgrade, rows: Sequence[Upgrade]) -> bool:
    """Whether a pair of the same parts saves as much with smaller steps."""
    parts = {change.part for change in pair.changes}
    alike = [row for row in rows if row.is_pair and {change.part for change in row.changes} == parts]
    return any(pair.saved <= row.saved * (1 + _NO_MORE) for row in alike)


def _list_pairs(rows: Sequence[Upgrade]) -> list[tuple[Upgrade, Upgrade]]:
    """The pairs that are run: of each part the variant that saves the most alone, of equals the smaller step, and of
    wires the largest step too, which may do nothing before another part is no limit any more."""
    best: dict[str, Upgrade] = {}
    largest: dict[str, Upgrade] = {}
    for row in rows:
        change = row.changes[0]
        if not change.is_of_machine:
            continue
        if change.part not in best or row.saved > best[change.part].saved * (1 + _NO_MORE):
            best[change.part] = row
        if change.part not in COMPUTING_PARTS:
            largest[change.part] = row
    chosen = dict.fromkeys((*best.values(), *largest.values()))
    return [(a, b) for a, b in combinations(chosen, 2) if a.changes[0].part != b.changes[0].part]


def _order_rows(rows: Sequence[Upgrade]) -> list[Upgrade]:
    """Free settings first, then by what is saved, or by what money saves where two rows or more have a price."""
    by_price = sum(row.price is not None for row in rows) >= _RANKED_BY_PRICE

    def rank(row: Upgrade) -> tuple[object, ...]:
        is_useful_setting = row.is_free and row.saved > 0
        if not by_price or row.is_free:
            return not is_useful_setting, False, -row.saved
        if row.per_thousand is None:
            return True, True, -row.saved
        return True, False, -row.per_thousand

    return sorted(rows, key=rank)
