"""A sweep is the product of what it was given, in order, with a row for what could not run."""

import json
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import collsim as cs


def test_a_row_for_every_combination_in_order():
    frame = cs.sweep(
        "allreduce",
        ["allreduce_ring", "allreduce_tree"],
        [cs.topology.switch(4), cs.topology.ring(4)],
        ["1KiB", "1MiB"],
    )
    assert (
        list(frame.algorithm)
        == ["allreduce_ring"] * 2 + ["allreduce_tree"] * 2 + ["allreduce_ring"] * 2 + ["allreduce_tree"] * 2
    )
    assert list(frame.nbytes) == [1024, 2**20] * 4
    assert frame.error.isna().all()


def test_a_row_is_the_simulation_itself():
    network = cs.topology.switch(8)
    frame = cs.sweep("allreduce", ["allreduce_ring"], network, ["64MiB"])
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=8), network, "64MiB")
    assert frame.time[0] == trace.time
    assert frame.busbw[0] == trace.busbw


def test_options_of_an_algorithm_go_with_its_name():
    two = cs.machine("dgx-a100", nodes=2)
    frame = cs.sweep(
        "allreduce", [("allreduce_ring", {"channels": 1}), ("allreduce_ring", {"channels": 8})], two, "256MiB"
    )
    assert frame.time[1] < frame.time[0] / 4


def test_what_cannot_run_is_a_row_with_its_reason():
    frame = cs.sweep("allreduce", [("allreduce_tree", {"chunks": 0}), "allreduce_ring"], cs.topology.switch(4), "1MiB")
    assert "chunks" in frame.error[0]
    assert frame.error.isna()[1]


def test_any_executor_gives_the_same_table():
    given = (
        "allreduce",
        ["allreduce_ring", "allreduce_tree"],
        [cs.topology.switch(4), cs.topology.ring(4)],
        ["1KiB", "1MiB"],
    )
    with ThreadPoolExecutor(2) as pool:
        assert cs.sweep(*given, executor=pool).equals(cs.sweep(*given))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"collective": "allredcue"}, "did you mean 'allreduce'"),
        ({"algorithm": ["allreduce_rin"]}, "did you mean 'allreduce_ring'"),
        ({"algorithm": ["broadcast_flat"]}, "not for allreduce"),
        ({"nbytes": ["64M"]}, "64MB"),
        ({"topology": []}, "at least one topology"),
        ({"algorithm": [("nccl", {"NCCL_PROTOCOL": "LL"})]}, "NCCL_PROTO"),
        ({"collective": "gather", "algorithm": ["nccl"]}, "collective of nccl-tests"),
    ],
)
def test_mistakes_are_told_before_anything_runs(given, sentence):
    with pytest.raises(cs.CollsimError, match=sentence):
        cs.sweep(**{"topology": cs.topology.switch(4), **given})


def test_nccl_is_an_algorithm_with_its_settings_as_options():
    two = cs.machine("dgx-a100", nodes=2)
    settings = {"NCCL_PROTO": ["LL", "Simple"], "NCCL_P2P_DISABLE": [0, 1]}
    frame = cs.sweep(
        "allreduce", ["allreduce_ring", ("nccl", settings)], [two, cs.topology.switch(8)], ["1MiB", "64MiB"]
    )
    asked = frame[(frame.algorithm == "nccl") & (frame.topology == two.name)]
    assert len(asked) == 2 * 2 * 2
    assert set(asked.engine) == {"nccl"}
    for _, row in asked.iterrows():
        found = cs.nccl.predict("allreduce", two, row["nbytes"], **json.loads(row.options))
        assert (row.time, row.busbw, row.nccl_protocol) == (
            found.time,
            found.busbw,
            json.loads(row.options)["NCCL_PROTO"],
        )
    no_gpus = frame[(frame.algorithm == "nccl") & (frame.topology != two.name)]
    assert no_gpus.error.str.contains("is not a machine").all()
    assert frame[frame.algorithm == "allreduce_ring"].error.isna().all()


def test_nccl_is_asked_once_whatever_the_engines_and_rank_orders():
    frame = cs.sweep(
        "allreduce",
        ["nccl"],
        cs.machine("dgx-a100"),
        "1MiB",
        engine=["lockstep", "event"],
        order=["given", "reversed"],
        where=lambda row: True,
    )
    assert list(zip(frame.engine, frame.order, strict=True)) == [("nccl", "given")]


def test_a_setting_of_nccl_with_a_bad_value_is_a_row_with_its_reason():
    frame = cs.sweep("allreduce", [("nccl", {"NCCL_PROTO": ["Simpel", "Simple"]})], cs.machine("dgx-a100"), "1MiB")
    assert "Simpel" in frame.error[0]
    assert frame.error.isna()[1]


@pytest.mark.parametrize(
    "make_frame",
    [
        lambda: cs.sweep(
            "allreduce",
            ["allreduce_ring", ("allreduce_ring", {"chunks": [1, 2]}), "nccl", "allreduce_nvls"],
            ["switch(4)", "dgx-a100"],
            ["1KiB", "1MiB"],
            engine=["lockstep", ("event", {"slow": {1: 2}, "jitter": "1us"})],
            order=["given", "reversed"],
        ),
        lambda: cs.sweep(model="resnet18", topology="dgx-a100", batch=64, parallel=[cs.ddp(), cs.fsdp()]),
        lambda: cs.compare("allreduce", "switch(4)", ["1KiB", "1MiB"]),
        lambda: cs.compare("resnet18", "dgx-a100", batch=64),
        lambda: cs.best("allreduce", "switch(4)", "1MiB", orders=2).tried,
    ],
    ids=["sweep", "sweep of steps", "compare", "compare of steps", "best"],
)
def test_a_frame_holds_numbers_and_texts_only(make_frame, tmp_path):
    frame = make_frame()
    for name, column in frame.items():
        kinds = {type(value) for value in column.astype(object)}
        assert kinds <= {str, int, float, bool, type(None)}, name
    twice = pd.concat([frame, frame])
    assert len(twice.drop_duplicates()) == len(frame.drop_duplicates()) == len(frame)
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "x.parquet")
    assert pd.read_parquet(tmp_path / "x.parquet").astype(object).fillna("-").equals(frame.astype(object).fillna("-"))
