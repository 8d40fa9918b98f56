"""From an edit of a machine to the new picture, in processor time of the server; and the upgrades of a step."""

import pytest
from streamlit.testing.v1 import AppTest

import collsim as cs

#: Another card in each round, because a machine that was seen before costs nothing.
CARDS = ("roce-25", "roce-50", "roce-100", "roce-200", "ib-ndr")


def explore() -> None:
    from collsim.app.main import main

    main(first="explore")


def train() -> None:
    from collsim.app.main import main

    main(first="train")


@pytest.mark.parametrize(
    ("page", "query"),
    [
        (explore, {"machine": "pcie-8gpu", "nodes": "8", "nbytes": "25MiB"}),
        (train, {"nodes": "2", "model": "resnet50"}),
    ],
    ids=["explore", "train"],
)
def test_an_edit_of_the_machine(benchmark, page, query):
    at = AppTest.from_function(page, default_timeout=120)
    for name, text in query.items():
        at.query_params[name] = text
    at.run()
    cards = iter(CARDS)

    def choose_cards():
        at.query_params["parts"] = f"nics:8,nic:{next(cards)}"

    benchmark.pedantic(at.run, setup=choose_cards, rounds=len(CARDS))
    assert not at.exception
    assert CARDS[-1] in str(at.query_params["parts"])


def test_the_upgrades_of_a_step(benchmark):
    box = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", pcie=3)
    step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
    table = benchmark.pedantic(cs.upgrades, (step,), rounds=1)
    assert table.worth_buying
