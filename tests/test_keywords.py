"""Keywords that people guess from other tools are answered with the word that collsim has for them."""

import inspect

import pytest

import collsim as cs
from collsim import keywords

SWITCH = cs.topology.switch(8)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: cs.schedule("allreduce_ring", n=8), "schedule has no n=; did you mean ranks="),
        (lambda: cs.schedule("allreduce_ring", world_size=8), "schedule has no world_size=; did you mean ranks="),
        (lambda: cs.schedule("allreduce_ring", 8, num_nodes=2), r"num_nodes=.*cs.machine\('dgx-a100', nodes=2\)"),
        (lambda: cs.compare("allreduce", "dgx-a100", "1MiB"), r"did you mean cs.machine\('dgx-a100'\)\?"),
        (lambda: cs.compare("allreduce", "switch(8)", "1MiB"), r"did you mean cs.topology.switch\(8\)\?"),
        (lambda: cs.compare("allreduce", SWITCH, algorithms=["allreduce_ring"]), "did you mean algorithm="),
        (lambda: cs.sweep("allreduce", topologies=[SWITCH]), "sweep has no topologies=; did you mean topology="),
        (lambda: cs.sweep("allreduce", None, SWITCH, sizes=["1MiB"]), "did you mean nbytes="),
        (lambda: cs.best("allreduce", SWITCH, size="1MiB"), "best has no size=; did you mean nbytes="),
        (lambda: cs.best("allreduce", SWITCH, "1MiB", world_size=8), "the topology says how many ranks there are"),
        (lambda: cs.best("allreduce", SWITCH), r"best: missing a required argument: 'nbytes'; it is called as best\("),
        (lambda: cs.best("allreduce", "dgx-a100", "1MiB"), r"did you mean cs.machine\('dgx-a100'\)\?"),
        (lambda: cs.best("allreduce", "nowhere", "1MiB"), "got 'nowhere'; make one with"),
        (lambda: cs.crossover("allreduce_ring", "allreduce_tree", "dgx-a100"), "did you mean cs.machine"),
        (lambda: cs.crossover("allreduce_ring", "allreduce_tree", SWITCH, frist=1), "did you mean 'first'"),
        (lambda: cs.synthesize("allgather", SWITCH, n=4), "synthesize has no n=; did you mean ranks="),
        (lambda: cs.synthesize("allgather", "dgx-a100"), "did you mean cs.machine"),
        (lambda: cs.close_gap("allgather", SWITCH, size="1MiB"), "did you mean nbytes="),
        (lambda: cs.simulate(cs.schedule("allreduce_ring", 8), "dgx-a100", "1MiB"), "did you mean cs.machine"),
    ],
)
def test_a_guess_is_answered(call, answer):
    with pytest.raises(cs.CollsimError, match=answer):
        call()


def test_options_of_a_training_step_are_no_guesses():
    """`network`, `collectives` and `ranks` are words of a step, which `sweep` and `compare` hand on."""
    table = cs.sweep(model="resnet18", topology="dgx-a100", batch=64, network="shared", collectives="links", ranks=[4])
    assert table["error"].isna().all()


def test_an_option_that_an_algorithm_really_has_is_none_either():
    @cs.algorithm("broadcast")
    def sized(n, gpus=1):
        yield cs.copy(0, range(1, n), chunk=0)

    assert cs.schedule(sized, 4, gpus=2).options["gpus"] == 2


@pytest.mark.parametrize("function", [cs.best, cs.compare, cs.crossover, cs.sweep, cs.synthesize, cs.close_gap])
def test_a_function_that_answers_keeps_its_signature_and_its_docstring(function):
    parameters = inspect.signature(function).parameters
    assert len(parameters) > 2
    assert function.__doc__
    assert not keywords.MEANINGS.keys() & parameters.keys(), "a parameter is no guess"
