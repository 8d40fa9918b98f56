"""A linear program, solved by an interior-point method (Mehrotra 1992, SIAM J. Optimization 2(4)).

Programs of tree rates have a few hundred rows and thousands of variables, of which each appears in about ten rows. A
step then costs one system of as many equations as there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...dtypes import Bools, Floats, Longs
from ...errors import CollsimError

_STEPS = 60  # a program that can be solved takes 7 to 25
_WORSE = 4  # steps without a better answer: rounding errors have taken over
_FAR = 12  # such steps far from the best: the gap of a large program grows for about six before it falls
_MATTERS = 1e-3  # values, prices and what a row has room for: below, they may be those of the next answer
_MORE = 3  # times as many variables as rows are counted at first, and where these satisfy the rows by no values
_ROUNDS = 60  # after so many, what was counted once stays: this ends
_IMPOSSIBLE = 1e-2  # an error that only programs have which no values satisfy
_AGREE = 1e-6  # what rows may lack and variables may gain that were not counted
_SHORT = 0.9995  # of the way to the nearest bound
_REGULAR = 1e-13  # added to the diagonal, which is 1: rows that say the same make the system singular


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """The best values of a program.

    Attributes:
        values: (variables,) of each.
        prices: (rows,) what the objective gains where a row's limit is raised by one.
        rows: (rows,) whether each was counted.
        variables: (variables,) whether each was counted; the others are 0.
        round: how many solutions came before it, each near the last.
        is_best: whether the rows and variables that were not counted change nothing.
    """

    values: Floats
    prices: Floats
    rows: Bools
    variables: Bools
    round: int
    is_best: bool


class UnsolvedError(CollsimError):
    """The method ends far from the best values."""


class LinearProgram:
    """Variables of at least 0, rows that limit weighted sums of them, and an objective that is maximized.

    Attributes:
        rows: variables, their coefficients and the limit of each row.
        objective: (variables,) coefficient of each.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Longs, Floats, float]] = []
        self.objective: Floats = np.zeros(0)

    def add_variables(self, count: int) -> Longs:
        """Add variables that the objective does not count yet.

        Args:
            count: how many.

        Returns:
            (count,) their numbers.
        """
        first = len(self.objective)
        self.objective = np.concatenate([self.objective, np.zeros(count)])
        return np.arange(first, first + count)

    def add_row(self, variables: Longs, coefficients: Floats | float, limit: float = 0.0) -> int:
        """Require a weighted sum to be at most a limit.

        Args:
            variables: their numbers.
            coefficients: of each, or one for all.
            limit: of the sum.

        Returns:
            The number of the row.
        """
        self.rows.append((variables, np.broadcast_to(np.float64(coefficients), variables.shape), limit))
        return len(self.rows) - 1

    def solve(self, precision: float, near: ProgramSolution | None = None) -> ProgramSolution:
        """The best values, or those nearest to them that rounding errors allow.

        Args:
            precision: of the objective and of the rows; coefficients and answers should be near 1.
            near: a solution before rows were added, or one that `is_best` is not. Few variables and rows matter near
                the best: only those are counted that did or seem to, so what is found may not be the best either.

        Raises:
            UnsolvedError: where rounding errors keep all answers far from the best.
        """
        entries = _Entries.from_program(self)
        if near is None:
            (values, prices), error = _solve(entries, precision)
            self._require_best(error)
            return ProgramSolution(values, prices, np.ones(len(prices), bool), np.ones(len(values), bool), 0, True)
        added = len(self.rows) - len(near.rows)
        prices = np.append(near.prices, np.zeros(added))
        loss, room = entries.sum_prices(prices) - entries.objective, entries.limit - entries.sum_rows(near.values)
        rows = (prices > _MATTERS) | (room < _MATTERS) | np.append(np.zeros(len(near.rows), bool), np.ones(added, bool))
        seem = near.values > _MATTERS
        if not added or near.round >= _ROUNDS:
            rows, seem = rows | np.append(near.rows, np.ones(added, bool)), seem | near.variables
        most, error = int(rows.sum()), np.inf
        while error > _IMPOSSIBLE:  # more variables may satisfy the rows
            most = min(_MORE * most, len(loss))
            variables = seem | (loss <= np.partition(loss, most - 1)[most - 1])
            (some_values, some_prices), error = _solve(entries.select(rows, variables), precision)
            if most == len(loss):
                self._require_best(error)
        values, prices = np.zeros(len(variables)), np.zeros(len(rows))
        values[variables], prices[rows] = some_values, some_prices
        better = ~variables & (entries.sum_prices(prices) < entries.objective - _AGREE)
        broken = ~rows & (entries.sum_rows(values) > entries.limit + _AGREE)
        return ProgramSolution(values, prices, rows, variables, near.round + 1, not better.any() and not broken.any())

    def _require_best(self, error: float) -> None:
        if error > _IMPOSSIBLE:
            message = (
                "the linear program of the trees' rates ({variables:,} variables, {rows:,} rows) ends {error:.2g} from "
                "the best; give fewer ranks or fewer groups"
            )
            raise UnsolvedError(message, variables=len(self.objective), rows=len(self.rows), error=error)


def _solve(entries: _Entries, precision: float) -> tuple[tuple[Floats, Floats], float]:
    """The best values and prices, and how far they are from what holds at the best point."""
    point = _Point(entries)
    best, error, worse = (point.x, point.y), np.inf, 0
    for _ in range(_STEPS):
        worse += 1
        if (now := point.measure_error()) < error:
            best, error, worse = (point.x, point.y), now, 0
        if error < precision or worse > (_WORSE if error < _IMPOSSIBLE else _FAR):
            break
        point.advance()
    return best, error


@dataclass(frozen=True, eq=False)
class _Entries:
    """A program as the entries of its matrix, sorted by variable."""

    row: Longs
    column: Longs
    coefficient: Floats
    limit: Floats
    objective: Floats

    @staticmethod
    def from_program(program: LinearProgram) -> _Entries:
        """All of a program."""
        column = np.concatenate([variables for variables, _, _ in program.rows])
        row = np.repeat(np.arange(len(program.rows)), [len(variables) for variables, _, _ in program.rows])
        coefficient = np.concatenate([coefficients for _, coefficients, _ in program.rows])
        order = np.argsort(column, kind="stable")
        limit = np.array([limit for _, _, limit in program.rows])
        return _Entries(row[order], column[order], coefficient[order], limit, program.objective)

    def select(self, rows: Bools, variables: Bools) -> _Entries:
        """The program of some rows and some variables, the others 0."""
        counted = rows[self.row] & variables[self.column]
        row, column = (np.cumsum(rows) - 1)[self.row[counted]], (np.cumsum(variables) - 1)[self.column[counted]]
        return _Entries(row, column, self.coefficient[counted], self.limit[rows], self.objective[variables])

    def sum_rows(self, values: Floats) -> Floats:
        """The weighted sum of each row."""
        sums: Floats = np.bincount(self.row, self.coefficient * values[self.column], len(self.limit)).astype(np.float64)
        return sums

    def sum_prices(self, prices: Floats) -> Floats:
        """What each variable costs at the prices of its rows."""
        weighted = self.coefficient * prices[self.row]
        sums: Floats = np.bincount(self.column, weighted, len(self.objective)).astype(np.float64)
        return sums


class _Point:
    """Values x with slacks s, prices y with reduced costs z: all positive, and nearer to the best with each step."""

    def __init__(self, entries: _Entries):
        self.sum_rows, self.sum_prices = entries.sum_rows, entries.sum_prices
        self.row, self.column, self.coefficient = entries.row, entries.column, entries.coefficient
        self.limit, self.objective = entries.limit, entries.objective
        # Where 1 can satisfy a row or a price the point begins there, with no residual left.
        self.x, self.y = np.ones(len(self.objective)), np.ones(len(self.limit))
        self.s = np.maximum(self.limit - self.sum_rows(self.x), 1.0)
        self.z = np.maximum(self.sum_prices(self.y) - self.objective, 1.0)
        # A step needs A D Aᵀ: the products of all entries of one column are summed where their rows cross.
        count = np.bincount(self.column, minlength=len(self.x))
        width = count[self.column]
        left = np.repeat(np.arange(len(self.column)), width)
        right = np.repeat((np.cumsum(count) - count)[self.column] - np.cumsum(width) + width, width)
        right += np.arange(len(left))
        self.cell = self.row[left] * len(self.limit) + self.row[right]
        self.product = self.coefficient[left] * self.coefficient[right]
        self.column_of_product = self.column[left]
        self._find_residuals()

    def measure_error(self) -> float:
        """How far rows, prices and the two objectives are from what holds at the best point."""
        gain, cost = self.objective @ self.x, self.limit @ self.y
        gap = abs(gain - cost) / (1 + abs(gain))
        return float(max(gap, np.abs(self.row_residual).max(), np.abs(self.price_residual).max()))

    def advance(self) -> None:
        """One step of predictor and corrector."""
        x, z, y, s = self.x, self.z, self.y, self.s
        size = len(self.limit)
        products = self.product * (x / z)[self.column_of_product]
        system: Floats = np.bincount(self.cell, products, size * size).astype(np.float64).reshape(size, size)
        system[np.diag_indices(size)] += s / y
        scale = 1 / np.sqrt(np.diag(system))
        scaled = system * scale[:, None] * scale
        scaled[np.diag_indices(size)] += _REGULAR
        inverse = np.linalg.inv(scaled)

        def find_direction(target_xz: Floats, target_sy: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            right = self.sum_rows((target_xz + x * self.price_residual) / z) + target_sy / y - self.row_residual
            dy = scale * (inverse @ (scale * right))
            dy += scale * (inverse @ (scale * (right - system @ dy)))
            dz = self.sum_prices(dy) - self.price_residual
            return (target_xz - x * dz) / z, (target_sy - s * dy) / y, dy, dz

        dx, ds, dy, dz = find_direction(-x * z, -s * y)
        ahead, back = _find_length(x, dx, s, ds), _find_length(y, dy, z, dz)
        centre = (x @ z + s @ y) / (len(x) + size)
        reached = ((x + ahead * dx) @ (z + back * dz) + (s + ahead * ds) @ (y + back * dy)) / (len(x) + size)
        target = (reached / centre) ** 3 * centre
        dx, ds, dy, dz = find_direction(target - x * z - dx * dz, target - s * y - ds * dy)
        ahead, back = _SHORT * _find_length(x, dx, s, ds), _SHORT * _find_length(y, dy, z, dz)
        self.x, self.s, self.y, self.z = x + ahead * dx, s + ahead * ds, y + back * dy, z + back * dz
        self._find_residuals()

    def _find_residuals(self) -> None:
        self.row_residual = self.limit - self.sum_rows(self.x) - self.s
        self.price_residual = self.objective - self.sum_prices(self.y) + self.z


def _find_length(first: Floats, first_step: Floats, second: Floats, second_step: Floats) -> float:
    """The part of a step after which no value is negative."""
    value, step = np.concatenate([first, second]), np.concatenate([first_step, second_step])
    falls = step < 0
    return float((-value[falls] / step[falls]).min(initial=1.0))
