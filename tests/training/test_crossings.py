"""Bytes by way of splitting and kind of link: they add up to what GPUs send, and lie where the groups lie."""

import pytest

import collsim as cs

BOX = cs.machine("dgx-a100", nodes=2)
GPT = cs.transformer(1024, 4, 16, seq=512)


def step(way, **more):
    return cs.training_step(GPT, BOX, parallel=way, batch=32, dtype="bfloat16", **more)


WAYS = [
    cs.tensor(8) * cs.pipeline(2),
    cs.tensor(4, sequence=True) * cs.pipeline(2) * cs.zero(1),
    cs.tensor(2) * cs.context(2) * cs.ddp(),
    cs.fsdp(),
    cs.fsdp(replicate=2),
    cs.tensor(2) * cs.fsdp(),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.says)
def test_all_rows_together_are_all_that_gpus_send(way):
    t = step(way)
    frame = t.crossings()
    gpus = [len(ranks) for ranks in t.step.lanes]
    total = sum(row.nbytes * gpus[row.lane] for row in frame.itertuples())
    assert total == pytest.approx(sum(t.sent_bytes.values()), rel=1e-6)


def test_tensor_groups_of_a_node_stay_on_nvlink_and_stages_cross_infiniband():
    """32 sequences of 1 on two stages of eight GPUs: each GPU of the first sends 32 activations of 512 x 1024 x 2 B."""
    frame = step(cs.tensor(8) * cs.pipeline(2)).crossings().set_index(["lane", "way"])
    assert frame.loc[(0, "tensor"), "link"] == "nvlink"
    assert frame.loc[(0, "pipeline"), "link"] == "infiniband"
    assert frame.loc[(0, "pipeline"), "nbytes"] == 32 * 512 * 1024 * 2


def test_stages_inside_a_node_send_over_nvlink():
    way = (cs.pipeline(2) * cs.zero(1)).placed("pp-tp-cp-ep-dp")
    frame = step(way).crossings()
    assert set(frame[frame.way == "pipeline"].link) == {"nvlink"}
    assert "infiniband" in set(frame[frame.way == "data"].link)


def test_a_split_is_read_from_the_text_that_it_says():
    ways = [cs.ddp(bucket=1234567), cs.ddp(bucket="1.5MiB", first=1000), cs.zero(2, bucket=7), cs.pipeline(4, "zbv")]
    for way in [*WAYS, *ways, (cs.tensor(2) * cs.ddp()).placed("pp-dp-ep-cp-tp")]:
        assert cs.training.spoken(way.says) == way
    assert cs.training.spoken("cs.tensor(8)*cs.ddp()").says == "tensor(8) * ddp()"


@pytest.mark.parametrize(
    "text",
    [
        "tensor(",
        "import os",
        "open('x')",
        "tensor(8) + ddp()",
        "tensor(x)",
        "tensor(8)(1)",
        "",
        "ddp().tensor(8)",
        "tensor(2).placed('pp-dp-ep-cp-tp')",
        " * ".join(["ddp()"] * 3000),
        "-" * 5000 + "1",
        "(" * 300 + "ddp()" + ")" * 300,
        None,
        5,
        b"ddp()",
    ],
)
def test_what_is_no_way_of_splitting_is_a_sentence(text):
    with pytest.raises(cs.CollsimError, match="way of splitting"):
        cs.training.spoken(text)


@pytest.mark.parametrize(("text", "says"), [("tensor(0)", "tensor=0 is too small"), ("zero(4)", "stage 1 shares")])
def test_a_value_that_cannot_be_is_named_in_a_product_too(text, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.training.spoken(text)


@pytest.mark.parametrize("options", [{}, {"prefetch": False}, {"reshard_after_forward": False}, {"accumulate": 2},
                                     {"replicate": 2}, {"reduce_dtype": "float32"}])  # fmt: skip
def test_formulas_of_fsdp_are_what_its_steps_send_and_gather(options):
    """(n − 1)/n of all gathers and reductions, and two blocks (or one, or all) beside the root."""
    from collsim.viz.splits.lanes import sharding_runner

    t = step(cs.fsdp(**options))
    figures = {row["name"]: row for row in sharding_runner("x", t)["figures"]}
    for name in ("sends", "gathered"):
        assert figures[name]["value"] == pytest.approx(figures[name]["drawn"], rel=1e-6), name


def test_megatrons_options_are_those_of_the_split():
    from collsim.training.parallel.megatron import options

    said = options("tensor(8, sequence=True) * pipeline(16, interleave=6) * zero(1)", 1536, 1, "full")
    for part in (
        "--tensor-model-parallel-size 8 --sequence-parallel",
        "--pipeline-model-parallel-size 16",
        "--num-virtual-stages-per-pipeline-rank 6",
        "--global-batch-size 1536",
        "--use-distributed-optimizer",
        "--recompute-granularity full",
    ):
        assert part in said
    assert "context" not in said
