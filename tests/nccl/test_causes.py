"""What docs/accuracy.md says of its misses in fixed sentences, held against the published runs themselves."""

import os
import re
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from accuracy.tables import list_tables

ROOT = Path(__file__).parents[2]
TABLES = Path(os.environ.get("COLLSIM_MEASURED", Path(__file__).parents[3] / "shared/data/measured"))
PAGE = " ".join((ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").split())

pytestmark = pytest.mark.skipif(not TABLES.is_dir(), reason="the published runs are not here")


@pytest.fixture(scope="module")
def runs():
    tables = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in list_tables(TABLES, "cases")]
    return pd.concat(tables, ignore_index=True).fillna("")


def floors(runs, **wanted):
    """Microseconds of the smallest call of the runs of which this is said."""
    for name, value in wanted.items():
        runs = runs[runs[name].str.contains(value, regex=False)]
    return sorted(float(us) for us in runs.min_time_us)


def test_small_broadcasts_take_5_us_over_32_nodes_and_22_us_inside_one(runs):
    assert "run ahead of one another with LL: they take 5 us over 2, 8 and 32 nodes alike" in PAGE
    assert "Another system prints 22 us inside one node" in PAGE
    few, some, far = (
        floors(runs[runs.nodes == nodes], collective="broadcast", system="ABCI compute node (V)")
        for nodes in ("2", "8", "32")
    )
    assert [round(few[0]), round(some[0])] == [5, 5]
    near = floors(runs[(runs.nodes == "1") & (runs.ranks == "8")], collective="broadcast", system="CoreWeave")
    assert [round(far[0]), round(near[-1])] == [5, 22]


def test_who_launches_says_what_the_smallest_call_of_eight_gpus_takes(runs):
    assert "One process that drives eight GPUs needs 30 to 42 us for the smallest call" in PAGE
    assert "eight processes 13 us, a captured graph 6 us" in PAGE
    eight = runs[(runs.ranks == "8") & (runs.nodes == "1")]
    graph = eight.launch.str.contains("graph")
    one = floors(eight, launch="one process, -g 8") + floors(eight, note="8 GPUs in 1 process")
    assert (len(one), int(min(one)), int(max(one))) == (4, 30, 42)
    assert {round(us) for us in floors(eight[~graph], launch="one process per GPU")} == {13}
    assert [round(us) for us in floors(eight[graph])] == [6]


def test_networks_that_few_systems_have(runs):
    assert "EFA is known from three systems, TCPX/TCPXO from two, and B200 over Ethernet from two" in PAGE
    for name, systems in (("EFA", 3), ("TCPX", 2)):
        assert runs[runs.inter_link.str.contains(name)].system.nunique() == systems
    b200 = runs[runs.gpu.str.fullmatch("B200") & runs.inter_link.str.contains("RoCE|Ethernet|GbE")]
    assert b200.system.nunique() == 2


def test_through_host_memory_pcie_4_gave_these_rates(runs):
    low, high = map(
        float, re.search(r"differ by a factor of four .*?\(([\d.]+) to ([\d.]+) GB/s on PCIe 4\)", PAGE).groups()
    )
    here = runs[runs.intra_link.str.match("pcie4.*nop2p") & (runs.nodes == "1") & (runs.collective == "allreduce")]
    rates = [float(rate) for rate in here.peak_busbw_GBps if float(rate) > 2]  # without a run of small sizes alone
    assert (round(min(rates), 1), round(max(rates))) == (low, high)
    assert round(high / low) == 4


def test_pairs_that_differ_in_p2p_alone_are_nine_of_one_system_six_of_them_with_lent_gpus(runs):
    assert (
        "all nine pairs are one system; in six of them two GPUs were lent from another box over a PCIe fabric" in PAGE
    )
    assert "| P2P off, other wiring | 9 |" in PAGE
    same = ["system", "collective", "gpu", "ranks", "nodes", "inter_link", "gdr", "algo", "proto"]
    pairs = [
        (a, b)
        for _, group in runs.groupby(same)
        for a, b in combinations(group.to_dict("records"), 2)
        if a["intra_link"] != b["intra_link"]
    ]
    assert (len(pairs), len({a["system"] for a, _ in pairs})) == (9, 1)
    assert sum("borrowed" in a["note"] + b["note"] for a, b in pairs) == 6
