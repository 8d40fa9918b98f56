"""The interior-point method finds what is known by hand, and what OR-Tools finds for programs drawn at random."""

import numpy as np
import pytest

from collsim.synthesis.tree_packing.linear_program import LinearProgram, UnsolvedError


def build_program(objective, rows):
    program = LinearProgram()
    variables = program.add_variables(len(objective))
    program.objective[variables] = objective
    for coefficients, limit in rows:
        program.add_row(variables, np.array(coefficients, float), limit)
    return program


def test_a_program_of_two_variables_by_hand():
    """3x + 5y with x <= 4, 2y <= 12 and 3x + 2y <= 18 is 36 at (2, 6) (Hillier & Lieberman, section 3.1)."""
    solution = build_program([3, 5], [([1, 0], 4), ([0, 2], 12), ([3, 2], 18)]).solve(1e-8)
    assert solution.values == pytest.approx([2, 6], rel=1e-6)
    assert solution.prices == pytest.approx([0, 1.5, 1], abs=1e-6)


def test_rows_said_twice_and_rows_without_room_are_solved():
    rows = [([1, 1], 1), ([1, 1], 1), ([1, -1], 0), ([-1, 1], 0)]
    assert build_program([1, 0], rows).solve(1e-7).values == pytest.approx([0.5, 0.5], abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_programs_drawn_at_random_reach_the_best_of_another_solver(seed):
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    rng = np.random.default_rng(seed)
    objective, matrix, limit = rng.random(30), rng.random((20, 30)) * (rng.random((20, 30)) < 0.4), 1 + rng.random(20)
    matrix[0] += 0.1  # bounded
    other = pywraplp.Solver.CreateSolver("GLOP")
    variables = [other.NumVar(0, other.infinity(), "") for _ in objective]
    for row, most in zip(matrix, limit, strict=True):
        other.Add(sum(float(a) * v for a, v in zip(row, variables, strict=True)) <= float(most))
    other.Maximize(sum(float(c) * v for c, v in zip(objective, variables, strict=True)))
    assert other.Solve() == other.OPTIMAL
    found = build_program(objective, zip(matrix, limit, strict=True)).solve(1e-8).values
    assert (matrix @ found <= limit + 1e-6).all()
    assert (found > 0).all()
    assert objective @ found == pytest.approx(other.Objective().Value(), rel=1e-6)


def test_a_program_with_one_more_row_is_solved_near_its_last_solution():
    """What was left out and disagrees is counted the next time, until the answer is that of the whole program."""
    rng = np.random.default_rng(3)
    matrix, objective = rng.random((6, 200)) + 0.1, rng.random(200)
    program = build_program(objective, zip(matrix, np.ones(6), strict=True))
    near = program.solve(1e-8)
    used = int(near.values.argmax())
    program.add_row(np.array([used]), 1.0, near.values[used] / 2)
    near = program.solve(1e-8, near)
    while not near.is_best:
        near = program.solve(1e-8, near)
    assert not near.variables.all()
    whole = program.solve(1e-8)
    assert near.values == pytest.approx(whole.values, abs=1e-5)
    assert objective @ near.values == pytest.approx(objective @ whole.values, rel=1e-6)


def test_a_program_that_no_values_satisfy_is_said_not_to_be_solved():
    with pytest.raises(UnsolvedError, match="1 variables, 2 rows"):
        build_program([1], [([1], 1), ([-1], -2)]).solve(1e-8)
