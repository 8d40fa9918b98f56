"""`collsim train`: the words of the API, one JSON document, and sentences for mistakes."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app

BASE = ["train", "resnet18", "--machine", "dgx-a100"]


def run_command(*words):
    return CliRunner().invoke(app, [*BASE, *words])


def run_json(*words):
    done = run_command(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_figures_are_those_of_the_api():
    t = cs.training_step("resnet18", cs.machine("dgx-a100", nodes=2), parallel=cs.ddp(bucket="5MiB"), batch=1024)
    told_ = run_json("--nodes", "2", "--batch", "1024", "--bucket", "5MiB")
    assert told_["time"] == t.time
    assert told_["exposed"] == t.exposed
    assert [task["nbytes"] for task in told_["tasks"] if task["kind"] == "allreduce"] == cs.ddp(
        bucket="5MiB"
    ).list_bucket_bytes(cs.model("resnet18"))


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["--no-overlap"], cs.ddp(overlap=False)),
        (["--hook", "fp16", "--view"], cs.ddp(hook="fp16", view=True)),
        (["--accumulate", "2", "--always-sync"], cs.ddp(accumulate=2, no_sync=False)),
        (["--parallel", "data-parallel", "--no-nccl"], cs.data_parallel(False)),
        (["--parallel", "parameter_server", "--servers", "2"], cs.parameter_server(2)),
        (["--parallel", "parameter_server", "--asynchronous"], cs.parameter_server(synchronous=False)),
        (["--parallel", "fsdp", "--accumulate", "2"], cs.fsdp(accumulate=2)),
    ],
)
def test_every_option_means_what_it_means_in_the_api(words, way):
    assert run_json("--batch", "256", *words)["parallel"] == way.label


def test_the_first_step_a_shared_network_and_both_languages():
    assert len([t for t in run_json("--batch", "64", "--first-step")["tasks"] if t["kind"] == "allreduce"]) == 1
    assert run_json("--batch", "64", "--network", "shared")["time"] == pytest.approx(
        run_json("--batch", "64")["time"], rel=1e-9
    )
    done = run_command("--batch", "64", "--lang", "zh")
    assert "反向传播" in done.output
    assert "bucket 0 allreduce" in done.output


def test_many_collectives_are_listed_by_what_they_have_in_common():
    """FSDP gathers each of 32 blocks (218,112,000 elements in 16 bits) in both passes, and reduces it once."""
    words = ["--batch", "8", "--parallel", "fsdp()", "--dtype", "bfloat16", "--recompute", "full"]
    done = CliRunner().invoke(app, ["train", "llama3-8b", "--machine", "dgx-h100", *words])
    listed = done.stdout.partition("what the network costs")[0]
    rows = [" ".join(line.split()) for line in listed.splitlines()]
    assert [row.split(" MiB")[0] for row in rows if " MiB" in row] == [
        "gather h.0 … gather h.31 allgather 64 416",
        "reduce h.0 … reduce h.31 reduce_scatter 32 416",
    ]
    few = CliRunner().invoke(app, ["train", "resnet50", "--machine", "dgx-a100", "--batch", "64"]).stdout
    listed, _, costs = few.partition("what the network costs")
    assert listed.count("allreduce") == 5, "few are listed one by one"
    assert "interference" in costs


def test_a_step_without_idle_gpus_says_so():
    """What is left of a step that always computes or communicates is rounding, and no time."""
    words = ["--parallel", "fsdp()", "--dtype", "bfloat16", "--recompute", "full", "--network", "shared"]
    done = CliRunner().invoke(app, ["train", "llama3-8b", "--machine", "dgx-h100", "--batch", "64", *words, "--json"])
    assert json.loads(done.stdout)["bubble"] == 0


def test_a_table_of_layers_and_a_file(tmp_path):
    (tmp_path / "two.csv").write_text("name,tensors,flops\na,1000,5\nb,2000 10,7\n")
    done = CliRunner().invoke(
        app,
        [
            "train",
            str(tmp_path / "two.csv"),
            "--topology",
            "switch(4)",
            "--micro-batch",
            "1",
            "--compute",
            "1ms",
            "-o",
            str(tmp_path / "x.csv"),
        ],
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "x.csv").read_text().startswith("task,")


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("network=2", {"network": 2}),
        ("overlap=false", {"overlap": False}),
        ("bucket=1MiB,hook=fp16", {"bucket": "1MiB", "hook": "fp16"}),
        ("parallel=data-parallel", {"parallel": cs.data_parallel()}),
        ("first-step=true", {"first_step": True}),
        ("optimizer=none,recompute=none", {"optimizer": "none", "recompute": "none"}),
        ("parallel=ddp(bucket='1MiB', view=True),network=2", {"parallel": cs.ddp("1MiB", view=True), "network": 2}),
    ],
)
def test_what_if_means_what_it_means_in_the_api(word, changes):
    t = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256)
    assert run_json("--batch", "256", "--what-if", word)["what_if"][word]["time"] == t.what_if(**changes).time
    assert f"{word}: {cs.format_time(t.time)} becomes" in run_command("--batch", "256", "--what-if", word).output


def test_the_ways_of_splitting_a_model_are_compared_each_at_its_best():
    words = ["compare", "--model", "resnet18", "--machine", "dgx-a100", "--batch", "256"]
    rows = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    table = cs.compare("resnet18", cs.machine("dgx-a100"), batch=256)
    assert [row["time"] for row in rows] == list(table.time)
    said = CliRunner().invoke(app, words).output
    assert all(way in said for way in table.parallel)
    assert table.attrs["search"] in " ".join(said.split())


def test_a_table_of_layers_is_compared_as_it_is_trained(tmp_path):
    (tmp_path / "two.csv").write_text("name,tensors,flops\na,1000,5\nb,2000 10,7\n")
    words = [str(tmp_path / "two.csv"), "--machine", "dgx-a100", "--batch", "64", "--json"]
    rows = json.loads(CliRunner().invoke(app, ["compare", "--model", *words]).stdout)
    assert rows[0]["time"] <= json.loads(CliRunner().invoke(app, ["train", *words]).stdout)["time"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "resnet18", "--algorithm", "allreduce_ring"], "--algorithm is for a collective"),
        (["--model", "resnet18", "--collective", "broadcast"], "--collective is for a collective"),
        (["--model", "resnet18", "--nbytes", "1MiB"], "--nbytes is for a collective"),
        (["--model", "resnet18", "--channels", "2"], "--channels is for a collective"),
        (["--batch", "64"], "--batch is for a step of training"),
        (["--micro-batch", "64"], "--micro-batch is for a step of training"),
    ],
)
def test_options_that_would_not_count_are_refused(words, says):
    done = CliRunner().invoke(app, ["compare", "--machine", "dgx-a100", *words])
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--batch", "64", "--what-if", "faster"],
        ["--batch", "64", "--what-if", "bucket=0"],
        ["--batch", "64", "--what-if", "wheels=4"],
        ["--batch", "100"],
        ["--batch", "64", "--bucket", "0"],
        ["--batch", "64", "--parallel", "magic"],
        ["--batch", "64", "--parallel", "data_parallel", "--hook", "fp16"],
        ["--batch", "64", "--ranks", "7"],
        ["--batch", "64", "-o", "x.docx"],
        ["--batch", "64", "--compute", "fast"],
        ["--batch", "99999999"],
    ],
)
def test_mistakes_end_in_one_sentence(words):
    done = run_command(*words)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    assert done.stderr.startswith("collsim: ") or "rror" in done.stderr


def test_a_way_of_splitting_may_be_named_without_brackets():
    assert run_json("--batch", "64", "--parallel", "fsdp")["parallel"] == "fsdp()"
    assert "known: context" in " ".join(run_command("--batch", "64", "--parallel", "magic").output.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["0"], "pipeline=0 is too small"),
        (["4", "--microbatches", "-3"], "microbatches=-3 is too small"),
        (["4", "--forward", ""], "forward=''"),
        (["4", "--hop", "inf"], "hop=inf"),
    ],
)
def test_a_pipeline_that_no_schedule_can_run_ends_in_one_sentence(words, why):
    done = CliRunner().invoke(app, ["train-pipeline", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr


def test_models_are_listed_with_their_parameters():
    done = CliRunner().invoke(app, ["list", "models", "--json"])
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["resnet50"]["parameters"] == 25_557_032
    assert set(rows) == set(cs.models())


def test_what_does_not_fit_into_the_memory_that_is_given_is_refused():
    words = ["train", "gpt2", "--machine", "dgx-a100", "--micro-batch", "4", "--memory"]
    assert CliRunner().invoke(app, [*words, "40GB"]).exit_code == 0
    done = CliRunner().invoke(app, [*words, "4GB"])
    assert done.exit_code == 2
    assert "does not fit" in done.output


def test_how_pytorch_runs_a_model_are_options_of_the_command():
    """Memory format, kernels of the optimizer, the host and the implementation of attention, as in Python."""
    words = ["resnet50", "--machine", "dgx-h100", "--ranks", "1", "--micro-batch", "32", "--dtype", "bfloat16"]
    eager = [
        "--memory-format",
        "channels_last",
        "--optimizer-kernels",
        "fused",
        "--host-launch",
        "31us",
        "--compile",
        "default",
    ]
    speed = cs.train.get_eager_speed(
        "H100",
        "bfloat16",
        memory_format="channels_last",
        optimizer_kernels="fused",
        host_launch="31us",
        compile="default",
    )
    machine = cs.machine("dgx-h100")
    same = cs.training_step(
        "resnet50", machine, parallel=cs.ddp(), micro_batch=32, dtype="bfloat16", ranks=1, compute=speed
    )
    done = CliRunner().invoke(app, ["train", *words, *eager, "--json"])
    record = json.loads(done.stdout)
    assert (record["time"], record["compute"]) == (same.time, same.costs.label)
    interval = same.interval
    assert [record["interval"][name] for name in ("low", "high")] == [interval.low, interval.high]
    assert record["interval"]["reason"] == str(interval.reason)
    for word in ("eager", "H100 eager", "H100"):
        again = CliRunner().invoke(app, ["train", *words, *eager, "--compute", word, "--json"])
        assert json.loads(again.stdout)["time"] == same.time
    refused = CliRunner().invoke(app, ["train", *words, *eager, "--compute", "fused"])
    assert refused.exit_code == 2
    assert "leave out --" in refused.output
    assert speed.forward_launch == pytest.approx(31e-6)
    assert speed.backward_launch / speed.forward_launch == pytest.approx(14 / 20)
    gpt = ["train", "gpt2", "--machine", "dgx-h100", "--ranks", "1", "--micro-batch", "4", "--json"]
    fused, stored = (
        json.loads(CliRunner().invoke(app, [*gpt, *more]).stdout)["time"] for more in ([], ["--attention", "eager"])
    )
    assert stored > fused
    wrong = CliRunner().invoke(app, [*gpt, "--attention", "slow"])
    assert wrong.exit_code == 2
    assert "attention" in wrong.output


def test_weights_have_a_type_of_their_own():
    """As `Model.to`: half of the bytes of gradients, and no copies of weights; an unknown type is named."""
    words = ["train", "gpt2", "--machine", "dgx-a100", "--micro-batch", "4", "--dtype", "bfloat16", "--json"]
    wide, narrow = (
        json.loads(CliRunner().invoke(app, [*words, *more]).stdout) for more in ([], ["--weights", "bfloat16"])
    )
    same = cs.training_step(
        cs.model("gpt2").to("bfloat16"), "dgx-a100", parallel=cs.ddp(), micro_batch=4, dtype="bfloat16"
    )
    assert narrow["time"] == same.time < wide["time"]
    wrong = CliRunner().invoke(app, [*words, "--weights", "int8"])
    assert wrong.exit_code == 2
    assert "weights" in wrong.output


def test_a_step_prints_where_its_measured_time_lies():
    done = run_command("--batch", "1024")
    assert "four in five steps of convolutional networks" in done.output
