"""Comparing algorithms: each at its best, which the table names; and nothing is tried that nobody is told of."""

import numpy as np
import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.simulate.variants import VariantSearch

TWO = cs.machine("dgx-a100", nodes=2)


def times(table, algorithm):
    return table[table["algorithm"] == algorithm].set_index("nbytes")["time"]


def run(machine, name, nbytes, **options):
    return cs.simulate(cs.schedule(name, topology=machine, **options), machine, nbytes).time


def test_a_comparison_takes_the_channels_that_a_machine_offers():
    row = cs.compare("allreduce", TWO, "256MiB", algorithm=["allreduce_ring"]).iloc[0]
    # 16 MiB / 25 GB/s x 30 for one ring; eight rings share the eight cards of a node
    assert (row["channels"], row["chunks"]) == (8, 1)
    assert row["time"] == run(TWO, "allreduce_ring", "256MiB", channels=8)
    assert row["time"] < run(TWO, "allreduce_ring", "256MiB", channels=1) / 7


def test_nvlink_sharp_is_not_slower_than_a_ring_for_want_of_chunks():
    table = cs.compare("allreduce", cs.machine("dgx-h100"), "256MiB", algorithm=["allreduce_ring", "allreduce_nvls"])
    assert list(table["algorithm"]) == ["allreduce_nvls", "allreduce_ring"]
    assert table["chunks"].iloc[0] > 1


def test_every_algorithm_is_the_fastest_of_all_that_the_table_says_was_tried():
    sizes = ["1KiB", "64MiB"]
    table = cs.compare("broadcast", TWO, sizes)
    assert table.attrs["search"] == "1 × 1, 8 × {1, 4, 16, 64, 256}"
    tries = [(1, 1), *((8, chunks) for chunks in (1, 4, 16, 64, 256))]
    for row in table[table["error"].isna()].to_dict("records"):
        known = cs.algorithms()[row["algorithm"]].options
        asked = [{k: v for k, v in (("channels", c), ("chunks", k)) if k in known} for c, k in tries]
        found = [run(TWO, row["algorithm"], row["nbytes"], **options) for options in asked]
        assert row["time"] == min(found), row
        assert row["tried"] == len({tuple(o.items()) for o in asked})


def test_pinned_counts_are_the_only_ones():
    table = cs.compare("allreduce", TWO, "256MiB", algorithm=["allreduce_double_binary_tree"], channels=1, chunks=1)
    assert table.attrs["search"] == "1 × 1"
    assert (table["tried"].item(), table["channels"].item(), table["chunks"].item()) == (1, 1, 1)
    assert table["time"].item() == run(TWO, "allreduce_double_binary_tree", "256MiB", channels=1, chunks=1)


def test_the_fastest_of_a_size_comes_first_and_what_cannot_run_says_why():
    table = cs.compare("allreduce", cs.topology.switch(6), ["1KiB", "1MiB"])
    assert table["nbytes"].is_monotonic_increasing
    for _, rows in table.groupby("nbytes"):
        good = rows["time"].dropna()
        assert np.all(np.diff(good) >= 0)
        assert rows["error"].notna().sum() == len(rows) - len(good) > 0


@pytest.mark.parametrize("wrong", [{"channels": 0}, {"chunks": 1.5}, {"algorithm": "allreduce_ring"}])
def test_what_cannot_be_compared_is_told(wrong):
    with pytest.raises(CollsimError):
        cs.compare("allreduce", TWO, "1MiB", **wrong)


def test_the_search_is_small():
    assert len(VariantSearch.for_topology(TWO).list_variants(cs.algorithms()["allreduce_double_binary_tree"])) == 6
    assert VariantSearch.for_topology(cs.topology.switch(8)).list_variants(cs.algorithms()["allreduce_ring"]) == [
        {"channels": 1}
    ]


def test_a_run_takes_the_channels_that_a_machine_offers_unless_told():
    assert cs.schedule("allreduce_ring", topology=TWO).options["channels"] == 8 == len(TWO.orders)
    assert cs.algorithms()["allreduce_ring"](16, topology=TWO).channels == 8
    assert cs.schedule("allreduce_ring", topology=TWO, channels=1).channels == 1
    assert cs.schedule("allreduce_ring", ranks=8, topology=TWO).channels == 1  # its orders are of all ranks
    assert cs.schedule("allreduce_ring", topology=cs.topology.ring(8)).channels == 1  # as textbooks have it
    assert cs.sweep("allreduce", "allreduce_ring", TWO, "1MiB")["channels"].item() == 8
