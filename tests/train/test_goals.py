"""The table of goals in docs/training.md, read from the tables that it sums up."""

from pathlib import Path

import pytest
from accuracy import goals

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("language", "page"), [(0, "training.md"), (1, "training.zh.md")])
def test_the_page_has_the_table_as_it_is_today(language, page):
    """Run `PYTHONPATH=docs python -m accuracy.goals --write` where a figure has changed."""
    assert "\n".join(goals.format_table(language)) in (DOCS / page).read_text(encoding="utf-8")


def test_what_is_missed_is_first_and_said(monkeypatch):
    every = list(goals.list_goals())
    monkeypatch.setattr(goals, "find_figure", lambda goal: goal.aim * (3 if goal is every[0] else 1))
    monkeypatch.setattr(goals, "list_goals", lambda: every)
    lines = goals.format_table(0)
    assert lines[2] == f"| {every[0].name[0]} | ≤ 10 % | 30 % | no |"
    assert all(line.endswith("| yes |") for line in lines[3:])


def test_a_row_that_is_gone_is_no_goal_met():
    goal = next(goals.list_goals())
    with pytest.raises(LookupError, match="no row"):
        goals.find_figure(goal._replace(place=("One GPU in eager PyTorch", ("V100", "all"))))
