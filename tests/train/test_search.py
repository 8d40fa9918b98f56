"""The search over splits: everything legal is there, estimates are near the steps, and the best is the best."""

import math

import numpy as np
import pytest

import collsim as cs
from collsim.train.split_search import (
    build_row,
    estimate_candidates,
    find_nearest_fit,
    iterate_legal_splits,
    list_legal_splits,
)
from collsim.train.split_search import build_search_request as request_of

BOX = cs.machine("dgx-a100", nodes=2)
GPT = cs.train.transformer(2048, 8, 16, seq=1024)


def build_request(**more):
    usual = {"model": GPT, "machine": BOX, "batch": 64, "dtype": "bfloat16", "optimizer": "adam"}
    return request_of({**usual, **more}, None)


def estimate_splits(request):
    """All legal splits with their estimates, in the order of the search."""
    listed = list_legal_splits(request, (1,), (1,))
    return [build_row(request, *pair) for pair in zip(listed, estimate_candidates(request, listed), strict=True)]


def test_every_split_that_is_legal_is_tried_once():
    """16 GPUs, 8 blocks: tp 1, 2, 4, 8, stages that divide blocks; replicas divide 64; microbatches of 1 to 16."""
    splits = list(iterate_legal_splits(build_request()))
    assert len(set(splits)) == len(splits)
    shapes = {(split.sizes["tp"], split.sizes["pp"]) for split, *_ in splits}
    assert shapes == {(t, p) for t in (1, 2, 4, 8) for p in (1, 2, 4, 8) if t * p <= 16}
    for split, micro, recompute in splits:
        assert recompute in ("none", "selective", "full")
        many = 64 // split.count_replicas(16) // micro
        assert split.pipeline.interleave == 1 or many % split.pipeline.size == 0


def test_each_of_them_runs():
    """One in 199 of all rows is run as a step, and takes about what was estimated; memory too."""
    rows = estimate_splits(build_request())
    for row in rows[::199]:
        step = cs.training_step(
            GPT,
            BOX,
            parallel=row["split"],
            batch=64,
            micro_batch=row["micro_batch"],
            recompute=row["recompute"],
            dtype="bfloat16",
            memory="1TB",
        )
        assert row["estimate"] == pytest.approx(step.time, rel=0.15), row
        assert row["memory"] == pytest.approx(step.memory.max(), rel=0.1), row


@pytest.mark.parametrize("compute", [None, "eager", "fused"])
def test_one_gpu_is_estimated_with_the_kernels_that_it_is_timed_with(compute):
    """The default of a lone H100 is eager PyTorch, which here takes longer than fused kernels."""
    lone = cs.machine("dgx-h100", gpus=1)
    table = cs.best_parallel("gpt2", lone, batch=8, compute=compute)
    row = table[table["micro_batch"] == 8].iloc[0]
    assert row["estimate"] == pytest.approx(row["time"], rel=0.05)


@pytest.mark.parametrize(("batch", "every"), [(64, 23), (8, 11)])
def test_memory_by_estimate_is_that_of_the_step(batch, every):
    """To the byte: a head of 128,000 words is as large as a stage, is held for one microbatch where others are held for
    several, and has gone when all gradients are there."""
    model, box = cs.train.transformer(512, 8, 8, seq=1024, vocab=128_000, tied=False), cs.machine("dgx-a100")
    for row in estimate_splits(build_request(model=model, machine=box, batch=batch))[::every]:
        given = {"batch": batch, "micro_batch": row["micro_batch"], "recompute": row["recompute"]}
        step = cs.training_step(model, box, parallel=row["split"], dtype="bfloat16", memory="1TB", **given)
        assert row["memory"] == pytest.approx(step.memory.max(), rel=1e-9), row


@pytest.mark.parametrize("room", [2e9, 8e9, 40e9])
def test_the_nearest_split_is_the_one_that_all_splits_say(room):
    """Fewest doublings from plain DDP with microbatches of 1 and nothing recomputed; then the fastest."""

    def away(row):
        doublings = sum(math.log2(row[way]) for way in ("tp", "cp", "ep", "pp", "interleave", "micro_batch"))
        return doublings + (row["data_parallel"] != "ddp()") + ["none", "selective", "full"].index(row["recompute"])

    rows = [row for row in estimate_splits(build_request()) if row["memory"] <= room]
    best, found = min(rows, key=lambda row: (away(row), row["time"])), find_nearest_fit(build_request(), room)
    assert (found["split"], found["micro_batch"], found["recompute"]) == (
        best["split"],
        best["micro_batch"],
        best["recompute"],
    )


def test_where_nothing_fits_no_split_is_the_nearest():
    assert find_nearest_fit(build_request(), 1e6) is None


def test_the_best_fits_and_is_timed_and_the_others_say_why_not():
    frame = cs.best_parallel(GPT, BOX, batch=64, top=3, memory="40GB", every=True)
    best = frame.iloc[0]
    assert best.fits
    assert best.timed
    assert best.reason == "the fastest that fits"
    assert frame.timed.sum() == 3
    assert (frame.time[:3].diff().dropna() >= 0).all()
    step = cs.training_step(
        GPT,
        BOX,
        parallel=best.split,
        batch=64,
        micro_batch=best.micro_batch,
        recompute=best.recompute,
        dtype="bfloat16",
    )
    assert step.time == best.time
    misfits = frame[~frame.fits]
    assert (misfits.memory > 40e9).all()
    assert misfits.reason.str.startswith("needs").all()


def test_pareto_marks_what_nothing_beats_in_both():
    frame = cs.best_parallel(GPT, BOX, batch=64, top=1, every=True)
    fits = frame[frame.fits]
    for _, row in fits[fits.pareto].iterrows():
        assert not ((fits.time <= row.time) & (fits.memory < row.memory)).any()
    for _, row in fits[~fits.pareto].head(20).iterrows():
        assert ((fits.time <= row.time) & (fits.memory <= row.memory)).sum() > 1


def test_what_fits_nowhere_names_the_split_that_needs_least():
    with pytest.raises(cs.CollsimError, match=r"needs least.*use more GPUs"):
        cs.best_parallel(GPT, BOX, batch=64, memory="100MB")


def test_a_batch_that_no_replicas_share_is_refused():
    odd = cs.train.transformer(2050, 7, 10, seq=64)
    with pytest.raises(cs.CollsimError, match="no split of 16 GPUs"):
        cs.best_parallel(odd, BOX, batch=1)


def test_heads_are_shared_evenly():
    """GPT-2 has 12 heads, the largest 25: Megatron-LM asserts that tensor parallelism divides them."""
    shapes = {
        name: {s.sizes["tp"] for s, *_ in iterate_legal_splits(build_request(model=cs.model(name)))}
        for name in ("gpt2", "gpt2-xl")
    }
    assert shapes == {"gpt2": {1, 2, 4}, "gpt2-xl": {1}}


@pytest.mark.parametrize("batch", [10**9, 10**12])
def test_a_batch_of_any_size_has_as_many_splits(batch):
    """Microbatches of 1 to 16 samples are tried, not all divisors of what a replica takes."""
    assert {micro for _, micro, _ in iterate_legal_splits(build_request(batch=batch))} == {1, 2, 4, 5, 8, 10, 16}


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"context_sizes": 2}, "must be a list"),
        ({"context_sizes": "12"}, "must be a list"),
        ({"context_sizes": None}, "must be a list"),
        ({"context_sizes": [0]}, "context_sizes=0 is too small"),
        ({"context_sizes": [1.5]}, "not a whole number"),
        ({"expert_sizes": [True]}, "is a bool"),
        ({"expert_sizes": ["x"]}, "not a whole number"),
        ({"context_sizes": [3]}, r"context_sizes=\(3,\)"),
    ],
)
def test_sizes_that_cannot_be_tried_are_a_sentence(sizes, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.best_parallel(GPT, BOX, batch=64, **sizes)


def test_sizes_may_be_any_numbers():
    sizes = {"context_sizes": [np.int64(2), "2", 2.0]}
    assert set(cs.best_parallel(GPT, BOX, batch=64, top=1, **sizes).cp) == {2}


def test_a_mixture_is_searched_with_expert_parallelism_too():
    """Mixtral has eight experts, so a node of eight holds one on each GPU; two nodes share no experts of it."""
    frame = cs.best_parallel("mixtral-8x7b", cs.machine("dgx-h100", nodes=2), batch=16, top=1, every=True)
    assert set(frame["ep"]) == {1, 8}
    assert frame["ep"][0] == 8
    assert set(cs.best_parallel("gpt2", BOX, batch=8, top=1, every=True)["ep"]) == {1}
