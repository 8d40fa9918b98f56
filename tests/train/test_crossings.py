"""Bytes by way of splitting and kind of link: they add up to what GPUs send, and lie where the groups lie."""

import pytest

import collsim as cs
from collsim.train.workload.collective_model import CollectiveModel
from collsim.train.workload.step_graph import StepTask

BOX = cs.machine("dgx-a100", nodes=2)
GPT = cs.train.transformer(1024, 4, 16, seq=512)


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


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.label)
def test_all_rows_together_are_all_that_gpus_send(way):
    t = step(way)
    frame = t.count_crossing_bytes()
    gpus = [len(ranks) for ranks in t.step.lanes]
    total = sum(row.nbytes * gpus[row.lane] for row in frame.itertuples())
    assert total == pytest.approx(sum(t.sent_bytes.values()), rel=1e-6)


def test_tensor_groups_of_a_node_stay_on_nvlink_and_stages_cross_infiniband():
    """32 sequences of 1 on two stages of eight GPUs: each GPU of the first sends 32 activations of 512 x 1024 x 2 B."""
    frame = step(cs.tensor(8) * cs.pipeline(2)).count_crossing_bytes().set_index(["lane", "strategy"])
    assert frame.loc[(0, "tensor"), "link"] == "nvlink"
    assert frame.loc[(0, "pipeline"), "link"] == "infiniband"
    assert frame.loc[(0, "pipeline"), "nbytes"] == 32 * 512 * 1024 * 2


def test_stages_inside_a_node_send_over_nvlink():
    way = (cs.pipeline(2) * cs.zero(1)).with_rank_order("pp-tp-cp-ep-dp")
    frame = step(way).count_crossing_bytes()
    assert set(frame[frame.strategy == "pipeline"].link) == {"nvlink"}
    assert "infiniband" in set(frame[frame.strategy == "data"].link)


def test_a_split_is_read_from_the_text_that_it_says():
    ways = [cs.ddp(bucket=1234567), cs.ddp(bucket="1.5MiB", first=1000), cs.zero(2, bucket=7), cs.pipeline(4, "zbv")]
    for way in [*WAYS, *ways, (cs.tensor(2) * cs.ddp()).with_rank_order("pp-dp-ep-cp-tp")]:
        assert cs.train.parse_strategy(way.label) == way
    assert cs.train.parse_strategy("cs.tensor(8)*cs.ddp()").label == "tensor(8) * ddp()"


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
        "tensor(2).with_rank_order('pp-dp-ep-cp-tp')",
        " * ".join(["ddp()"] * 3000),
        "-" * 5000 + "1",
        "(" * 300 + "ddp()" + ")" * 300,
        None,
        5,
        b"ddp()",
        "ddp(*[1])",
        "ddp(**{'bucket': 1})",
    ],
)
def test_what_is_no_way_of_splitting_is_a_sentence(text):
    with pytest.raises(cs.CollsimError, match="way of splitting"):
        cs.train.parse_strategy(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tensor(0)", "tensor=0 is too small"),
        ("zero(4)", "stage 1 shares"),
        ("tensor(8, sequnce=True)", "unknown option of tensor 'sequnce'; did you mean 'sequence'?"),
    ],
)
def test_a_value_that_cannot_be_is_named_in_a_product_too(text, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.train.parse_strategy(text)


@pytest.mark.parametrize("options", [{}, {"prefetch": False}, {"reshard_after_forward": False}, {"accumulate": 2},
                                     {"replicate": 2}, {"reduce_dtype": "float32"}])  # fmt: skip
def test_formulas_of_fsdp_are_what_its_steps_send_and_gather(options):
    """(n − 1)/n of all gathers and reductions, and two blocks (or one, or all) beside the root."""
    from collsim.viz.splits.pipeline_document import build_sharding_runner

    t = step(cs.fsdp(**options))
    figures = {row["name"]: row for row in build_sharding_runner("x", t)["figures"]}
    for name in ("sends", "gathered"):
        assert figures[name]["value"] == pytest.approx(figures[name]["drawn"], rel=1e-6), name


def megatron(way, model="llama2-7b", recompute="none", **more):
    """Options of the command line, each with what follows it."""
    from collsim.train.parallel.megatron_command import build_megatron_command

    words = build_megatron_command(way, cs.model(model), 1536, 1, recompute, **more).replace("\\\n", "").split()
    found, last = {}, ""
    for word in words:
        last = word if word.startswith("--") else last
        found[last] = found.get(last, "") if word == last else f"{found.get(last, '')} {word}".strip()
    return found


def test_megatrons_options_are_those_of_the_split():
    said = megatron("tensor(8, sequence=True) * pipeline(16, interleave=6) * zero(1)", "gpt3-175b", "full", nodes=128)
    assert said[""] == "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun"
    for option, value in {
        "--nnodes": "128",
        "--nproc-per-node": "8 pretrain_gpt.py",
        "--num-layers": "96",
        "--hidden-size": "12288",
        "--seq-length": "2048",
        "--tensor-model-parallel-size": "8",
        "--sequence-parallel": "",
        "--pipeline-model-parallel-size": "16",
        "--num-virtual-stages-per-pipeline-rank": "6",
        "--global-batch-size": "1536",
        "--use-distributed-optimizer": "",
        "--grad-reduce-in-bf16": "",
        "--recompute-granularity": "full",
    }.items():
        assert said[option] == value, option
    assert not [option for option in said if "context" in option or "swiglu" in option]


def test_megatron_shards_by_torch_where_it_can_and_else_by_its_own_module():
    """validate_args refuses --use-torch-fsdp2 with a pipeline, experts, a tied head, and fused gradients."""
    plain = megatron(cs.fsdp())
    assert {"--use-torch-fsdp2", "--no-gradient-accumulation-fusion", "--untie-embeddings-and-output-weights"} <= {
        *plain
    }
    assert "--use-distributed-optimizer" not in plain
    assert "--torch-fsdp2-no-reshard-after-forward" in megatron(cs.fsdp(False))
    own = [
        megatron(cs.fsdp(), "gpt2"),
        megatron(cs.pipeline(4) * cs.fsdp()),
        megatron(cs.expert(4) * cs.fsdp(), "gpt-oss-20b"),
        megatron(cs.fsdp(replicate=2)),
        megatron(cs.zero(3)),
        megatron(cs.zero(2)),
    ]
    assert [one["--data-parallel-sharding-strategy"] for one in own] == ["optim_grads_params"] * 5 + ["optim_grads"]
    assert not [one for one in own if "--use-torch-fsdp2" in one or one["--ckpt-format"] != "fsdp_dtensor"]
    assert own[3]["--num-distributed-optimizer-instances"] == "2"
    fsdp = megatron(cs.tensor(8) * cs.fsdp())  # needs more connections than one
    assert fsdp[""] == "torchrun"


def test_megatron_reduces_gradients_as_the_step_does():
    assert "--overlap-grad-reduce" in megatron(cs.ddp())
    assert "--grad-reduce-in-bf16" not in megatron(cs.ddp())
    assert "--overlap-grad-reduce" not in megatron(cs.ddp(overlap=False))
    assert "--grad-reduce-in-bf16" not in megatron(cs.zero(1, reduce_dtype="float32"))
    half = megatron(cs.pipeline(4) * cs.ddp(), recompute="alternate")
    assert (half["--recompute-method"], half["--recompute-num-layers"]) == ("block", "4")  # 32 / 4 / 2


def test_what_megatron_has_not_is_refused():
    with pytest.raises(cs.CollsimError, match="1F1B and interleaved"):
        megatron(cs.pipeline(4, "zbv") * cs.ddp())
    assert "--use-tp-pp-dp-mapping" in megatron((cs.pipeline(4) * cs.ddp()).with_rank_order("tp-cp-ep-pp-dp"))
    with pytest.raises(cs.CollsimError, match="no order 'dp-tp-cp-ep-pp'"):
        megatron((cs.tensor(4) * cs.ddp()).with_rank_order("dp-tp-cp-ep-pp"))


@pytest.mark.parametrize(
    ("way", "model", "why"),
    [
        ("data_parallel()", "llama2-7b", "no option for data_parallel"),
        ("parameter_server()", "llama2-7b", "no option for parameter_server"),
        (cs.ddp(hook="fp16"), "llama2-7b", "hook='fp16' in"),
        (cs.ddp(no_sync=False), "llama2-7b", "no_sync=False in"),
        (cs.fsdp(prefetch=False), "llama2-7b", "prefetch=False in"),
        (cs.fsdp(no_sync=True), "llama2-7b", "no_sync=True in"),
        (cs.fsdp(reduce_dtype="float16"), "llama2-7b", "reduce_dtype='float16' in"),
        (cs.zero(3, overlap=False), "llama2-7b", "overlap=False in"),
        (cs.tensor(2) * cs.pipeline(4, scatter=True) * cs.ddp(), "llama2-7b", "scatter=True in"),
        (cs.pipeline(3) * cs.ddp(), "llama2-7b", "multiple of 3 for layers=32"),
        (cs.pipeline(8, interleave=8) * cs.ddp(), "llama2-7b", "multiple of 64 for layers=32"),
        (cs.tensor(3) * cs.ddp(), "llama2-7b", "multiple of 3 for heads=32"),
        (cs.context(3) * cs.ddp(), "llama2-7b", "multiple of 6 for seq=4096"),
        (cs.tensor(2) * cs.expert(2) * cs.ddp(), "gpt-oss-20b", "only with sequence=True"),
        (cs.ddp(), "resnet50", "resnet50 is none"),
        (cs.ddp(), "bert-base", "bert-base is none"),
    ],
)
def test_what_megatrons_options_do_not_say_is_refused_and_not_left_out(way, model, why):
    with pytest.raises(cs.CollsimError, match=why):
        megatron(way, model)


def test_megatrons_buckets_are_given_in_elements():
    assert megatron(cs.ddp("40MiB"))["--ddp-bucket-size"] == str(10 * 2**20)
    assert megatron(cs.zero(1, bucket=1000))["--ddp-bucket-size"] == "1000"
    assert not [way for way in (cs.ddp(), cs.zero(1)) if "--ddp-bucket-size" in megatron(way)]


@pytest.mark.parametrize("name", ["dgx-1v", "polaris", "pcie-8gpu", "mi300x-8gpu"])
@pytest.mark.parametrize("kind", ["allreduce", "alltoall", "sendrecv", "broadcast"])
def test_a_group_on_some_of_the_nodes_takes_what_a_machine_of_as_many_nodes_takes(name, kind):
    """Steps of training and `predict` have one way to a time: the links of the machine."""
    cluster = cs.machine(name, nodes=4)
    model, per_node = CollectiveModel(cluster), cluster.ranks // 4
    for nodes, group in ((1, range(per_node)), (1, (0, 1)), (2, range(2 * per_node)), (2, (0, per_node))):
        task = StepTask(name="", kind=kind, lanes=(0,), nbytes=2**28)
        predicted = model.predict(tuple(group), task)
        alone = cs.nccl.predict(kind, cs.machine(name, nodes=nodes), 2**28, len(group))
        assert predicted.time == pytest.approx(alone.time, rel=1e-9)
