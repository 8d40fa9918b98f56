"""What docs/howto/buy-first.md says of its four cases is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import collsim as cs

#: The cases of the page take half a minute; what it prints is in `make check` (tests/site/test_outputs.py).
pytestmark = pytest.mark.slow
PAGES = sorted((Path(__file__).parents[2] / "docs" / "howto").glob("buy-first*.md"))


def test_both_languages_run_the_same_code():
    blocks = [re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL) for page in PAGES]
    english, chinese = (
        "\n".join(each).replace('explanation("zh")', "explanation()").replace('text("zh")', "text()") for each in blocks
    )
    assert english == chinese


@pytest.fixture(scope="module")
def cases():
    space: dict = {"print": lambda *_: None}
    for block in re.findall(r"```python\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL):
        exec(block, space)
    return space


def find_row(table, **words):
    return next(row for row in table.rows if row.words == words)


def list_bought_parts(table):
    return {change.part for row in table.worth_buying for change in row.changes}


def test_the_workstation_computes(cases):
    table = cs.upgrades(cases["workstation"])
    assert list_bought_parts(table) == {"gpu"}
    assert cases["workstation"].exposed < 0.2 * cases["workstation"].time


def test_the_box_needs_cards_before_nvlink(cases):
    step, table = cases["step"], cases["table"]
    board, cards = find_row(table, nvlink="board"), find_row(table, nic="roce-100")
    both = find_row(table, nic="roce-100", nvlink="board")
    assert board.saved <= 0 < cards.saved < both.saved - 0.2 * step.time
    assert table.worth_buying[0].saved > 0.5 * step.time
    on_board = cs.nccl.predict("allreduce", cases["box"].with_(nvlink="board"), "25MiB")
    assert (on_board.protocol, cs.nccl.predict("allreduce", cases["box"], "25MiB").protocol) == ("LL128", "Simple")


def test_two_dgx_hide_their_network(cases):
    table = cs.upgrades(cases["two"])
    assert find_row(table, bucket="250MiB").is_free
    assert list_bought_parts(table) <= {"gpu", "nodes"}


def test_spines_without_oversubscription_bring_the_cluster_nothing(cases):
    table = cs.upgrades(cases["cluster"], parts=["nic", "nics", "oversubscription"])
    assert find_row(table, oversubscription=1).share < 0.005
    assert not table.worth_buying


def test_prices_order_the_rows(cases):
    priced = [row.per_thousand for row in cases["priced"].rows if row.price is not None]
    assert len(priced) >= 4
    assert priced == sorted(priced, reverse=True)
