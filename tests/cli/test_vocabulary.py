"""Options of a command have the names of the parameters of the function that it calls."""

import inspect

import click
import pytest
import typer.main
from typer.testing import CliRunner

import collsim as cs
from collsim.cli.options import MachineSpec
from collsim.cli.shell import app
from collsim.site import build_site, write_slides, write_worksheet

#: Command: the function that it calls, and the options that stand for something else.
CALLS = {
    "run": (cs.simulate, {"load", "beside", "synthesize", "switches", "out"}),
    "compare": (cs.compare, {"synthesize", "model", "batch", "micro_batch", "out"}),
    "predict": (cs.nccl.predict, {"out"}),
    "calibrate": (cs.analysis.calibrate, {"here", "out"}),
    "accuracy": (cs.nccl.evaluate_accuracy, set()),
    "synthesize": (cs.synthesize, {"out"}),
    "program": (cs.program, {"language", "no_sandbox", "out", "flight_recorder"}),  # it writes, as -o does
    "convert": (cs.io.convert, {"out"}),
    "train-search": (cs.best_parallel, set()),
    "grade": (cs.grade, {"no_sandbox"}),
    "slides": (write_slides, set()),
    "worksheet": (write_worksheet, {"algorithm"}),
    "site": (build_site, set()),
}
#: Options that a machine or a run's condition takes, for its own function.
SHARED = {*MachineSpec.__dataclass_fields__, "gpus_per_node", "json", "help"}
#: The other spelling, which goes on working: command, the arguments it is given with, both spellings.
SPELLINGS = [
    ("predict", "--version", "--nccl"),
    ("convert", "--read-as", "--from"),
    ("convert", "--write-as", "--to"),
    ("train-search", "--context-sizes", "--context"),
    ("train-search", "--expert-sizes", "--expert"),
    ("slides", "--lessons", "--lesson"),
    ("program", "--machine", "--topology"),
    ("program", "--language", "--lang"),
    ("real", "--no-eager", "--waiting"),
]


def find_options(command):
    group = typer.main.get_command(app)
    parameters = group.get_command(click.Context(group), command).params
    return [parameter for parameter in parameters if parameter.param_type_name == "option"]


def get_name(option):
    return next(name for name in option.opts if name.startswith("--")).lstrip("-").replace("-", "_")


@pytest.mark.parametrize("command", CALLS)
def test_an_option_is_called_as_the_parameter(command):
    function, others = CALLS[command]
    parameters = {*inspect.signature(function).parameters, *inspect.signature(cs.simulate).parameters}
    assert {get_name(option) for option in find_options(command)} - SHARED - parameters == others


@pytest.mark.parametrize(("command", "present", "other"), SPELLINGS)
def test_both_spellings_are_one_option(command, present, other):
    options = [option for option in find_options(command) if {present, other} & {*option.opts, *option.secondary_opts}]
    assert len(options) == 1
    assert {present, other} <= {*options[0].opts, *options[0].secondary_opts}


def test_the_former_spelling_gives_the_same_answer():
    arguments = ["predict", "allreduce", "--machine", "dgx-a100", "--nbytes", "1MiB", "--json"]
    new, former = (CliRunner().invoke(app, [*arguments, name, "2.12"]).stdout for name in ("--version", "--nccl"))
    assert new == former != CliRunner().invoke(app, arguments).stdout


@pytest.mark.parametrize("words", ["run allreduce_ring", "predict allreduce", "train resnet50"])
def test_a_machine_without_its_option_is_told_the_option(words):
    done = CliRunner().invoke(app, [*words.split(), "dgx-a100"])
    assert done.exit_code == 2
    assert "--machine dgx-a100" in " ".join(done.stderr.replace("│", "").split())
