"""What the pages show is what the public face returns."""

import importlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from wirings import PCIE_8GPU

import collsim as cs
from collsim.app.jobs.job_spec import hear_progress
from collsim.app.scenario.choice import OWN, Choice, list_usual_algorithms
from collsim.app.scenario.outcome import (
    Refused,
    build_topology,
    compare,
    compute_outcome,
    estimate_compare,
    find_crossings,
    find_load_of_miss,
    find_near_misses,
    list_used_options,
)
from collsim.app.scenario.run_questions import break_run


def test_the_first_picture_uses_every_channel_and_says_what_one_would_give():
    shown = compute_outcome(Choice())
    assert shown.channels == 8
    m = cs.machine("dgx-a100", nodes=2)
    for figures, channels in ((shown.figures, 8), (shown.alone, 1)):
        trace = cs.simulate(cs.schedule("allreduce_ring", topology=m, channels=channels), m, "256MiB")
        assert figures.time == trace.time
        assert figures.busbw == trace.busbw
    assert shown.alone.time > 3 * shown.figures.time


def test_the_headline_agrees_with_the_timeline():
    from collsim.viz.timeline.timeline_document import decode

    shown = compute_outcome(Choice(machine="ring", ranks=6, nbytes="1MiB"))
    made = decode(shown.timeline)
    assert made["figures"]["time"] == pytest.approx(shown.figures.time, rel=1e-12)
    assert shown.bottleneck["text"]["en"]
    assert shown.bottleneck["text"]["zh"]
    assert shown.endpoints["sent"].sum() == shown.endpoints["received"].sum()


def test_a_generic_network_has_one_channel_unless_asked():
    choice = Choice(machine="ring")
    assert list_used_options(choice, build_topology(choice)) == {}
    choice = replace(choice, options=(("channels", 2), ("root", 1)))
    assert list_used_options(choice, build_topology(choice)) == {"channels": 2}


def test_too_much_is_refused_before_it_is_computed():
    with pytest.raises(Refused) as refused:
        compute_outcome(Choice(machine="fat_tree", shape="16"))
    assert refused.value.key == "refused.ranks"
    with pytest.raises(Refused) as refused:
        compute_outcome(Choice(machine="switch", ranks=256, options=(("channels", 64),)))
    assert refused.value.key == "refused.transfers"


def test_many_transfers_have_figures_but_no_player():
    shown = compute_outcome(Choice(machine="switch", ranks=256, nbytes="1GiB", options=(("channels", 2),)))
    assert shown.timeline is None
    assert shown.figures.transfers == 2 * 255 * 256 * 2
    assert shown.bottleneck["text"]["en"]


def test_a_crossing_is_where_both_lines_have_the_same_time():
    table = pd.DataFrame(
        [
            {"algorithm": name, "nbytes": n, "time": alpha + n * beta, "error": None}
            for n in (1000, 2000, 4000)
            for name, alpha, beta in (("low", 1.0, 0.002), ("wide", 4.0, 0.001))
        ]
    )
    leaders, found = find_crossings(table)
    assert leaders == ["low", "wide"]
    assert [(c.first, c.second, c.nbytes) for c in found] == [("low", "wide", 3000)]
    assert found[0].time == pytest.approx(7.0)


def test_the_comparison_is_the_sweep():
    choice = Choice(machine="switch", ranks=8, sizes="1KiB:1MiB:32")
    table = compare(choice)
    assert set(table["algorithm"]) == set(list_usual_algorithms("allreduce"))
    ring = table[table["algorithm"] == "allreduce_ring"]
    again = cs.sweep(
        "allreduce",
        "allreduce_ring",
        cs.topology.switch(8, bandwidth="25GB/s", alpha="1us"),
        cs.size_range("1KiB:1MiB:32"),
    )
    assert np.allclose(ring["time"], again["time"], rtol=1e-12)


def test_a_comparison_on_the_spot_starts_no_process(monkeypatch):
    sweeping = importlib.import_module("collsim.sweep.sweep_runner")
    monkeypatch.setattr(sweeping, "_ALONE", 0.0)  # as if the first piece had taken long
    monkeypatch.setattr(sweeping, "_open_workers", lambda: pytest.fail("the server was forked"))
    table = compare(Choice(machine="switch", ranks=4, sizes="1KiB:1MiB:32"))
    assert table["error"].isna().all()


def test_a_run_says_what_its_file_does_not_say_and_where_nccl_is_predicted_to_be_far_off():
    (en, zh), *rest = compute_outcome(Choice(machine="pcie-8gpu", nodes=1, nbytes="1GiB")).notes
    assert not rest
    assert "predict is 1.79 times as long" in en
    assert "1.79 倍" in zh
    assert compute_outcome(Choice(nbytes="1GiB")).notes == ()
    notes = compute_outcome(Choice(machine=OWN, machine_text=PCIE_8GPU, nodes=2, nbytes="64MiB")).notes
    assert any("assumed ib-hdr" in en and "as long" in en and "用时为" in zh for en, zh in notes)


def test_the_reason_of_a_difference_calls_its_link_as_the_picture_does():
    shown = compute_outcome(Choice(algorithm="allreduce_parameter_server", nodes=4))
    english, chinese = next(texts for texts in shown.notes if "NCCL would run" in texts[0])[:2]
    assert "share NIC 0 → switch, node 0 (IB HDR)" in english
    assert "共用 网卡 0 → 交换机，节点 0（IB HDR）" in chinese


def test_a_broken_run_that_is_large_still_says_where_it_breaks():
    """Its timeline goes packed, and the sentence is in it."""
    choice = Choice(machine="ring", ranks=48, nbytes="1MiB")
    small, large = (break_run(replace(choice, ranks=ranks), "lose", 1, "en") for ranks in (4, 48))
    assert "z" in large.timeline
    assert "z" not in small.timeline
    assert "rank" in large.verdict


def test_the_table_of_links_has_the_names_of_the_sentence():
    for place, algorithm in (("switch", "allreduce_parameter_server"), ("line", "broadcast_flat")):
        shown = compute_outcome(Choice(machine=place, collective=algorithm.partition("_")[0], algorithm=algorithm))
        busiest = shown.links.sort_values("share", ascending=False, kind="stable").iloc[0]
        assert f"The cable {busiest['en']}" in shown.bottleneck["text"]["en"]
        assert f"线缆 {busiest['zh']}" in shown.bottleneck["text"]["zh"]


def test_the_table_of_links_calls_a_gpu_by_its_rank_as_the_picture_does():
    links = compute_outcome(Choice(machine="dgx-1v", nodes=1, nbytes="1MiB")).links
    assert dict(zip(links["link"], links["en"], strict=True))["node0/gpu2 → node0/gpu0"] == "rank 2 → rank 0"
    links = compute_outcome(Choice(machine="dgx-a100", nodes=2, nbytes="1MiB")).links
    assert not links["en"].str.contains("gpu|/").any()
    assert (
        dict(zip(links["link"], links["zh"], strict=True))["node1/gpu0 → node1/nvswitch"] == "rank 8 → NVSwitch，节点 1"
    )


def test_an_algorithm_that_leads_at_no_size_is_named_where_it_comes_nearest():
    choice = Choice()  # two DGX A100
    table = compare(choice)
    leaders, _ = find_crossings(table)
    misses = find_near_misses(table)
    assert "allreduce_ring" in {miss.algorithm for miss in misses}
    assert not {miss.algorithm for miss in misses} & set(leaders)
    for miss in misses:
        times = table[table["nbytes"] == miss.nbytes].set_index("algorithm")["time"]
        assert miss.first == times.idxmin()
        assert miss.ratio == pytest.approx(times[miss.algorithm] / times.min(), rel=1e-6)
    assert [miss.ratio for miss in misses] == sorted(miss.ratio for miss in misses)
    # Each of 8 network cards has an eighth of the buffer: a ring sends it 2 * 15/16 times, the trees once.
    load = find_load_of_miss(choice, table, misses[0])
    assert (misses[0].algorithm, load.kind) == ("allreduce_ring", "infiniband")
    assert load.slower / load.faster == pytest.approx(2 * 15 / 16)


def test_a_comparison_in_lockstep_is_estimated_as_one_pass_over_all_sizes():
    few, many = (estimate_compare(Choice(sizes=f"1KiB:1GiB:{factor}")) for factor in (1024, 2))
    assert many == pytest.approx(few, rel=0.05)
    assert estimate_compare(Choice(engine="event")) > 5 * many


def test_a_comparison_with_the_event_engine_reports_every_fourth_size_first():
    choice = Choice(machine="ring", ranks=3, engine="event", sizes="1KiB:1MiB:2", algorithms=("allreduce_ring",))
    parts = []
    with hear_progress(lambda stage, share, part: parts.append((share, part))):
        table = compare(choice)
    sizes = [sorted(part["nbytes"]) for _, part in parts if part is not None]
    whole = cs.size_range(choice.sizes)
    assert sizes[0] == sorted({*whole[::4], whole[-1]})
    assert len(sizes[0]) < len(sizes[-1])
    assert sizes[-1] == whole == list(table["nbytes"])
    shares = [share for share, _ in parts]
    assert shares == sorted(shares)
    pd.testing.assert_frame_equal(table, compare(choice))  # on the spot, where nobody watches
