"""Options that take a name answer a word of the field that is none, in the language that was asked for."""

import pytest
from typer.testing import CliRunner

from collsim.cli import app

RUN = ("run", "allreduce_ring", "--nbytes", "1MiB")
PREDICT = ("predict", "allreduce", "--machine", "dgx-a100", "--nbytes", "1MiB")


def refuse(*words):
    """What stands on stderr of a call that is refused."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((*RUN, "--topology", "环形"), "did you mean 'ring'"),
        ((*RUN, "--topology", "switch(4)", "--dtype", "MPI_DOUBLE"), "did you mean 'float64'"),
        ((*RUN, "--topology", "switch(4)", "--engine", "evnt"), "did you mean 'event'"),
        (("compare", "全规约", "--topology", "switch(4)"), "did you mean 'allreduce'"),
        (("compare", "--algorithm", "双二叉树", "--topology", "switch(4)"), "'allreduce_double_binary_tree'"),
        ((*PREDICT, "--machine", "DCU"), "did you mean 'mi300x-8gpu'"),
        ((*PREDICT, "--rates", "nominl"), "unknown rates 'nominl'; did you mean 'nominal'"),
        ((*PREDICT, "--fabric", "DistributedSampler"), "the glossary: gives each rank its own part of the data set"),
        (
            ("train", "resnet50", "--machine", "dgx-a100", "--parallel", "模型并行"),
            "did you mean 'tensor' or 'pipeline'",
        ),
        (
            ("calibrate", "examples/all_reduce_perf.txt", "--machine", "dgx-a100", "--collective", "点对点"),
            "'sendrecv'",
        ),
        (("convert", "examples/algorithm.xml", "out.json", "--nbytes", "8"), "unknown keyword"),
    ],
)
def test_a_word_that_is_no_name_is_answered(words, answer):
    assert answer in refuse(*words)


@pytest.mark.parametrize("command", ["glossary", "slides", "worksheet", "nccl-diff"])
def test_each_command_refuses_a_language_without_texts(command, tmp_path):
    arguments = {"glossary": ["GDR"], "nccl-diff": ["2.30", "2.32"]}.get(command, [str(tmp_path / "out.md")])
    assert "unknown language 'quux'; known: en, zh" in refuse(command, *arguments, "--language", "quux")
    assert list(tmp_path.iterdir()) == []


def test_parts_of_a_machine_are_refused_where_there_is_none():
    answer = refuse(*RUN, "--topology", "switch(4)", "--nic", "roce-100", "--hash-seed", "3")
    assert answer == "collsim: --hash-seed, --nic: only --machine takes parts and nodes; a network has its own"


def test_a_word_of_the_glossary_is_explained_in_chinese():
    done = CliRunner().invoke(app, ["glossary", "参数服务器", "--lang", "zh"])
    assert done.stdout.startswith("参数服务器 · parameter server：")
