"""A linear program, solved by an interior-point method (Mehrotra 1992, SIAM J. Optimization 2(4)).

Programs of tree rates have a few hundred rows and thousands of variables, of which each appears in about ten rows. A
step then costs one system of as many equations as there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...dtypes import Floats, Longs

_STEPS = 60  # a program that can be solved takes 7 to 25
_WORSE = 4  # steps without a better answer: rounding errors have taken over
_SHORT = 0.9995  # of the way to the nearest bound
_REGULAR = 1e-13  # added to the diagonal, which is 1: rows that say the same make the system singular


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """The best values of a program.

    Attributes:
        values: (variables,) of each.
        prices: (rows,) what the objective gains where a row's limit is raised by one.
    """

    values: Floats
    prices: Floats


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

    def solve(self, precision: float) -> ProgramSolution:
        """The best values, or those nearest to them that rounding errors allow.

        Args:
            precision: of the objective and of the rows; coefficients and answers should be near 1.
        """
        point = _Point(self)
        best, error, worse = point.solution, np.inf, 0
        for _ in range(_STEPS):
            worse += 1
            if (now := point.measure_error()) < error:
                best, error, worse = point.solution, now, 0
            if error < precision or worse > _WORSE:
                break
            point.advance()
        return best


class _Point:
    """Values x with slacks s, prices y with reduced costs z: all positive, and nearer to the best with each step."""

    def __init__(self, program: LinearProgram):
        sizes = [len(variables) for variables, _, _ in program.rows]
        column = np.concatenate([variables for variables, _, _ in program.rows])
        order = np.argsort(column, kind="stable")
        self.column = column[order]
        self.row = np.repeat(np.arange(len(sizes)), sizes)[order]
        self.coefficient = np.concatenate([coefficients for _, coefficients, _ in program.rows])[order]
        self.limit = np.array([limit for _, _, limit in program.rows])
        self.objective = program.objective
        # Where 1 can satisfy a row or a price the point begins there, with no residual left.
        self.x, self.y = np.ones(len(self.objective)), np.ones(len(self.limit))
        self.s = np.maximum(self.limit - self._sum_rows(self.x), 1.0)
        self.z = np.maximum(self._sum_prices(self.y) - self.objective, 1.0)
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

    @property
    def solution(self) -> ProgramSolution:
        return ProgramSolution(self.x, self.y)

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
            right = self._sum_rows((target_xz + x * self.price_residual) / z) + target_sy / y - self.row_residual
            dy = scale * (inverse @ (scale * right))
            dy += scale * (inverse @ (scale * (right - system @ dy)))
            dz = self._sum_prices(dy) - self.price_residual
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

    def _sum_rows(self, values: Floats) -> Floats:
        sums: Floats = np.bincount(self.row, self.coefficient * values[self.column], len(self.limit)).astype(np.float64)
        return sums

    def _sum_prices(self, prices: Floats) -> Floats:
        sums: Floats = np.bincount(self.column, self.coefficient * prices[self.row], len(self.objective)).astype(
            np.float64
        )
        return sums

    def _find_residuals(self) -> None:
        self.row_residual = self.limit - self._sum_rows(self.x) - self.s
        self.price_residual = self.objective - self._sum_prices(self.y) + self.z


def _find_length(first: Floats, first_step: Floats, second: Floats, second_step: Floats) -> float:
    """The part of a step after which no value is negative."""
    value, step = np.concatenate([first, second]), np.concatenate([first_step, second_step])
    falls = step < 0
    return float((-value[falls] / step[falls]).min(initial=1.0))
