"""DDP's buckets, against what torch 2.13.0 really made (tests/train/torch: run on a CPU), and known answers of other
versions."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.train import Layer
from collsim.train.parallel.buckets import assign_buckets
from collsim.train.parallel.data_parallel_strategy import cut_pieces

TORCH = json.loads((Path(__file__).parent / "torch" / "ddp_buckets.json").read_text())


def _options(case):
    if case in ("default", "unused", "static"):
        return {"unused": {"find_unused_parameters": True}, "static": {"static_graph": True}}.get(case, {})
    return {"bucket_cap_mb": int(case)}


@pytest.mark.parametrize("case", TORCH)
def test_buckets_are_those_that_torch_made(case):
    name, option = case.split("/")
    model, parallel, want = cs.model(name), cs.ddp(**_options(option)), TORCH[case]
    assert parallel.list_bucket_bytes(model, step=1) == want["first"]
    assert parallel.list_bucket_bytes(model) == parallel.list_bucket_bytes(model, step=2) == want["later"]
    assert parallel.list_bucket_bytes(model, step=3) == want["later2"]
    if option != "static":
        assert [len(b) for b in parallel.assign_tensors(model, 2)] == want["counts"]


def test_known_answers_of_resnet50():
    model = cs.model("resnet50")
    assert cs.ddp().list_bucket_bytes(model) == [8_196_000, 31_502_336, 26_255_360, 26_550_272, 9_724_160]
    assert cs.ddp(bucket="25MiB").list_bucket_bytes(model) == [30_257_056, 26_255_360, 28_366_848, 17_348_864]
    assert len(cs.ddp(bucket="1MiB").list_bucket_bytes(model)) == 35
    assert cs.ddp(find_unused=True).list_bucket_bytes(model)[-1] == 1_623_296


@pytest.mark.parametrize(
    ("cap", "want"), [(25, [2_052_000, 28_852_224, 15_853_824]), (35, [2_052_000, 38_297_600, 6_408_448])]
)
def test_resnet18_as_a_user_of_torch_1_7_saw_it(cap, want):
    """pytorch issue 48880; the first bucket was 1 MiB then also with a cap of one's own."""
    assert cs.ddp(bucket=cap * 2**20, first="1MiB").list_bucket_bytes(cs.model("resnet18")) == want


def test_each_dtype_has_buckets_and_a_first_cap_of_its_own():
    sizes, kinds = [4, 4, 4, 4, 4, 4], ["a", "b", "a", "b", "a", "b"]
    assert assign_buckets(sizes, kinds, (4, 8)) == [[0], [1], [2, 4], [3, 5]]
    assert assign_buckets(sizes[:4], kinds[:4], (4, 8)) == [[0], [1], [2], [3]]


@settings(max_examples=60, deadline=None)
@given(
    tensors=st.lists(st.lists(st.integers(0, 3_000_000), max_size=3), min_size=1, max_size=30),
    cap=st.integers(1, 2**24),
    first=st.integers(1, 2**22),
)
def test_no_tensor_is_lost_or_split_and_every_bucket_but_the_last_reaches_its_cap(tensors, cap, first):
    model = cs.train.Model("m", tuple(Layer(f"l{i}", tuple(own)) for i, own in enumerate(tensors)))
    parallel = cs.ddp(bucket=cap, first=first)
    layout, sizes = parallel.assign_tensors(model), parallel.list_bucket_bytes(model)
    assert sorted(i for bucket in layout for i in bucket) == list(range(len(model.tensors)))
    assert sum(sizes) == model.nbytes == sum(parallel.list_bucket_bytes(model, step=1))
    for number, (bucket, size) in enumerate(zip(layout, sizes, strict=True)):
        limit = cap if number else first
        assert size >= limit or number == len(layout) - 1
        assert size - model.tensors[bucket[-1]][0] < limit  # it closed as soon as it could


def test_data_parallel_sends_pieces_of_at_least_10_mib():
    sizes = [size for size, _ in cs.model("resnet50").tensors]
    found = cut_pieces(sizes)
    assert sum(found) == sum(sizes)
    assert min(found[:-1]) >= 10 * 2**20


def test_torchs_own_words_are_taken_and_a_contradiction_is_not():
    assert cs.ddp(bucket_cap_mb=5) == cs.ddp(bucket="5MiB")
    assert cs.ddp(gradient_as_bucket_view=True) == cs.ddp(view=True)
    with pytest.raises(cs.CollsimError, match="twice"):
        cs.ddp(bucket="5MiB", bucket_cap_mb=25)


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": 0},
        {"bucket": -1},
        {"bucket_cap_mb": 0},
        {"bucket": "25M"},
        {"bucket": 1.5},
        {"view": np.array([1, 2])},
        {"gradient_as_bucket_view": 0},
        {"bucket": float("nan")},
        {"bucket": float("inf")},
        {"first": 0},
        {"hook": "fp8"},
        {"accumulate": 0},
        {"view": 1},
    ],
)
def test_impossible_options_get_a_sentence(options):
    with pytest.raises(cs.CollsimError):
        cs.ddp(**options)


def test_buckets_want_a_model_and_a_step():
    with pytest.raises(cs.CollsimError, match="wants a Model"):
        cs.ddp().list_bucket_bytes("resnet50")
    with pytest.raises(cs.CollsimError, match="step"):
        cs.ddp().list_bucket_bytes(cs.model("resnet50"), step=0)
