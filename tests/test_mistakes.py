"""Whatever is given to a public function, a mistake of the user's is a CollsimError; a traceback of numpy's is ours."""

from contextlib import suppress
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import collsim as cs
from collsim import registry
from collsim.dtypes import are_equal
from collsim.simulate import expected_cost, simulate_flows

RING = cs.topology.ring(4, bandwidth="25GB/s", alpha="1us")
PLAN = cs.schedule("allreduce_ring", ranks=4)
RUN = cs.simulate(PLAN, RING, nbytes=64)
STEP = cs.copy(0, 1, chunk=0)
TRAINING = cs.training_step("gpt2", "dgx-a100", parallel="ddp()", batch=8)
PROGRAM = "def allreduce(send, recv):\n    recv[:] = send\n"

#: Values of every type that somebody might hand to the wrong place.
JUNK = (
    *(None, True, 0, -1, 3, 2.5, float("nan"), float("inf"), 10**30, 1e300, 1 + 2j, np.float64(2), np.int32(3)),
    *("x", "8", "64M", "1e400GB", "", b"x", [], {}, (), {1, 2}, [None], [[]], object(), type, cs, lambda n: n),
    *(
        np.zeros(3),
        np.zeros(0),
        np.array(3),
        "x" * 1000,
        np.zeros((2, 2, 2)),
        np.array(["a"]),
        np.array([None]),
        PLAN,
        RING,
        RUN,
        cs.algorithms()["allreduce_ring"],
    ),
)


def edge(**data):
    graph = nx.Graph()
    graph.add_edge("a", "b", **{"bandwidth": 1e9, "alpha": 0, **data})
    return cs.Topology.from_networkx(graph)


def node(**data):
    graph = nx.Graph()
    graph.add_node("a", **data)
    graph.add_node("b", kind="gpu")
    graph.add_edge("a", "b", bandwidth=1e9)
    return cs.Topology.from_networkx(graph)


def swept(**given):
    few = {"collective": "reduce", "algorithm": "reduce_flat", "topology": [RING], "nbytes": 8}
    return cs.sweep(**{**few, **given})


def written(**claims):
    def mine(n):
        yield STEP

    entry = cs.algorithm("broadcast", name="mine_of_test_mistakes", **claims)(mine)
    return entry(2), entry.claim("steps", 2), entry.claim("sent", 2), entry.price(2, 8, 1e-6, 1e-9)


def event(**options):
    return cs.simulate(PLAN, RING, 64, engine="event", **options)


DOORS = {
    "schedule(x)": lambda x: cs.schedule(x, ranks=4),
    "schedule(ranks=x)": lambda x: cs.schedule("allreduce_ring", ranks=x),
    "schedule(topology=x)": lambda x: cs.schedule("allreduce_ring", topology=x),
    "schedule(chunks=x)": lambda x: cs.schedule("allreduce_tree", ranks=4, chunks=x),
    "schedule(root=x)": lambda x: cs.schedule("broadcast_binomial", ranks=4, root=x),
    "schedule(server=x)": lambda x: cs.schedule("allreduce_parameter_server", ranks=4, server=x),
    "algorithms(x)": cs.algorithms,
    "claim(x)": lambda x: cs.algorithms()["allreduce_ring"].claim(x, 4),
    "claim(n=x)": lambda x: cs.algorithms()["allreduce_ring"].claim("steps", x),
    "price(n=x)": lambda x: cs.algorithms()["allreduce_ring"].price(x, 8, 1e-6, 1e-9),
    "price(nbytes=x)": lambda x: cs.algorithms()["allreduce_ring"].price(4, x, 1e-6, 1e-9),
    "algorithm(x)": cs.algorithm,
    "@algorithm above x": lambda x: cs.algorithm("allreduce")(x),
    **{
        f"algorithm({what}=x)": lambda x, what=what: written(**{what: x})
        for what in ("steps", "sent", "chunks", "helpers", "ranks", "cost")
    },
    **{
        f"algorithm({what}=gives x)": lambda x, what=what: written(**{what: lambda n: x})
        for what in ("steps", "chunks", "helpers", "cost")
    },
    "algorithm(helpers_on=x)": lambda x: written(helpers_on=x),
    "algorithm(most_ranks=x)": lambda x: written(most_ranks=x),
    "verify": cs.verify,
    "replay(x)": lambda x: cs.replay(x, np.ones((4, 4))),
    "replay(buffers=x)": lambda x: cs.replay(PLAN, x),
    "replay(op=x)": lambda x: cs.replay(PLAN, np.ones((4, 4)), op=x),
    "replay(layout=x)": lambda x: cs.replay(PLAN, np.ones((4, 4)), layout=x),
    "simulate(x)": lambda x: cs.simulate(x, RING, nbytes=8),
    "simulate([x])": lambda x: cs.simulate([x], RING, nbytes=8),
    "simulate(topology=x)": lambda x: cs.simulate(PLAN, x, nbytes=8),
    "simulate(nbytes=x)": lambda x: cs.simulate(PLAN, RING, nbytes=x),
    "simulate(dtype=x)": lambda x: cs.simulate(PLAN, RING, 8, dtype=x),
    "simulate(engine=x)": lambda x: cs.simulate(PLAN, RING, 8, engine=x),
    "simulate(ranks=x)": lambda x: cs.simulate(PLAN, RING, 8, ranks=x),
    **{
        f"simulate({what}=x)": lambda x, what=what: event(**{what: x})
        for what in ("sharing", "gamma", "launch", "jitter", "seed", "late", "slow", "background", "shortcuts", "begin")
    },
    "simulate(background=[x])": lambda x: event(background=[x]),
    "simulate_flows(x)": lambda x: simulate_flows(x, [0], [1], 8),
    "simulate_flows(src=x)": lambda x: simulate_flows(RING, x, [1], 8),
    "simulate_flows(nbytes=x)": lambda x: simulate_flows(RING, [0], [1], x),
    "expected_cost(x)": lambda x: expected_cost(x, RING, 8),
    "expected_cost(topology=x)": lambda x: expected_cost(PLAN, x, 8),
    "expected_cost(engine=x)": lambda x: expected_cost(PLAN, RING, 8, engine=x),
    "lower_bound(x)": lambda x: cs.lower_bound(x, RING, 8),
    "lower_bound(topology=x)": lambda x: cs.lower_bound("allreduce", x, 8),
    "lower_bound(nbytes=x)": lambda x: cs.lower_bound("allreduce", RING, x),
    "lower_bound(ranks=x)": lambda x: cs.lower_bound("allreduce", RING, 8, ranks=x),
    "lower_bound(root=x)": lambda x: cs.lower_bound("broadcast", RING, 8, root=x),
    "lower_bound(helpers=x)": lambda x: cs.lower_bound("allreduce", RING, 8, helpers=x),
    "machine(x)": cs.machine,
    "machine(nic=x)": lambda x: cs.machine("dgx-a100", nic=x),
    "machine(nics=x)": lambda x: cs.machine("dgx-a100", nics=x),
    "diagnose(x)": cs.diagnose,
    "diagnose(name=x)": lambda x: cs.diagnose({"nccl.log": x}),
    "upgrades(parts=x)": lambda x: cs.upgrades(TRAINING, parts="x" if x is None else x),
    "from_networkx": cs.Topology.from_networkx,
    **{f"edge {what}=x": lambda x, what=what: edge(**{what: x}) for what in ("bandwidth", "alpha", "kind", "label")},
    **{f"node {what}=x": lambda x, what=what: node(**{what: x}) for what in ("kind", "node")},
    "scaled(kind=x)": lambda x: RING.scaled(kind=x),
    "scaled(by=x)": lambda x: RING.scaled(by=x),
    "with_helpers(x)": RING.with_helpers,
    "with_helpers(on=x)": lambda x: RING.with_helpers(1, on=x),
    "load_topology": cs.load_topology,
    "load": cs.load,
    "save(path=x)": lambda x: cs.save(PLAN, x),
    "convert(format=x)": lambda x: cs.io.convert("no-such-file", "y.xml", read_as=x),
    "trace.save": RUN.save,
    "trace.usage": RUN.usage,
    "by_rank": PLAN.by_rank,
    "diagram": PLAN.diagram,
    "best(topology=x)": lambda x: cs.best("reduce", x, 8),
    "best(algorithm=x)": lambda x: cs.best("reduce", RING, 8, algorithm=x),
    "crossover(x)": lambda x: cs.crossover(x, "allreduce_tree", RING),
    "crossover(topology=x)": lambda x: cs.crossover("allreduce_ring", "allreduce_tree", x),
    "cheapest(x)": lambda x: cs.analysis.cheapest(x, {"a": RING}, "reduce", 8, 1),
    "cheapest(machines=x)": lambda x: cs.analysis.cheapest({"a": 1}, x, "reduce", 8, 1),
    "cheapest(machine=x)": lambda x: cs.analysis.cheapest({"a": 1}, {"a": x}, "reduce", 8, 1),
    "compare": lambda x: cs.compare(x, RUN),
    "compare(switches=x)": lambda x: cs.compare("reduce", RING, 8, algorithm="reduce_flat", switches=x),
    "best_parallel(every=x)": lambda x: cs.best_parallel("gpt2", "dgx-a100", batch=32, every="x" if x is True else x),
    "critical_path": cs.analysis.critical_path,
    "sensitivity": cs.analysis.sensitivity,
    "calibrate": lambda x: cs.analysis.calibrate(x, RING),
    **{
        f"sweep({what}=x)": lambda x, what=what: swept(**{what: x})
        for what in ("collective", "algorithm", "topology", "nbytes", "dtype", "engine", "order", "executor", "out")
    },
    **{
        f"sweep({what}=[x])": lambda x, what=what: swept(**{what: [x]})
        for what in ("algorithm", "topology", "nbytes", "dtype", "engine", "order")
    },
    "sweep(an edit x)": lambda x: swept(topology=[{"machine": "dgx-a100", "scaled": x}]),
    "sweep(an option x)": lambda x: swept(collective="broadcast", algorithm=("broadcast_chain", {"chunks": x})),
    "copy(x)": lambda x: cs.copy(x, 1, chunk=0),
    "copy(chunk=x)": lambda x: cs.copy(0, 1, chunk=x),
    "repeat(x)": lambda x: cs.steps.repeat(x, 2, 1, 4),
    "repeat(times=x)": lambda x: cs.steps.repeat(STEP, x, 1, 4),
    "reverse": lambda x: list(cs.steps.reverse(x)),
    "together": lambda x: list(cs.steps.together(x)),
    "pipeline_chunks(x)": lambda x: list(cs.steps.pipeline_chunks(x, 2)),
    "pipeline_chunks(chunks=x)": lambda x: next(cs.steps.pipeline_chunks([STEP], x)),
    "pipeline_chunks(stride=x)": lambda x: next(cs.steps.pipeline_chunks([STEP], 2, x)),
    **{f.__name__: f for f in (cs.units.parse_bytes, cs.units.parse_bandwidth, cs.units.parse_time, cs.size_range)},
    **{f.__name__: f for f in (cs.format_bytes, cs.format_bandwidth, cs.format_time)},
}


@pytest.fixture(autouse=True)
def own_algorithms_are_forgotten():
    before = dict(registry._REGISTRY)
    yield
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


@pytest.mark.parametrize("door", DOORS)
def test_what_makes_no_sense_is_a_sentence(door, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "x" is a good name for a file
    for value in JUNK:
        with suppress(cs.CollsimError):  # some of it makes sense at some doors
            DOORS[door](value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.simulate(RING, PLAN, 8), "simulate wants a topology"),
        (lambda: cs.simulate(PLAN, RING, 8, engine=[]), "unknown engine"),
        (lambda: cs.verify(None), "None is not a schedule"),
        (lambda: cs.verify(cs.schedule("allreduce_ring", 4).to_frame()), "a DataFrame is not a schedule"),
        (lambda: cs.replay(PLAN, np.ones((4, 4)), op=["sum"]), "unknown reduction op"),
        (lambda: cs.Topology.from_networkx(None), "wants a networkx graph"),
        (lambda: cs.load_topology(3), "path=3 is not a path"),
        (lambda: RUN.save(None), "path=None is not a path"),
        (lambda: cs.copy([[1], [1, 2]], 1, chunk=0), "rows of different lengths"),
        (lambda: list(cs.steps.together(3)), "3 is not a list of steps"),
        (lambda: cs.sweep("reduce", [("reduce_flat", 3)], [RING], 8), "neither a name nor"),
        (lambda: cs.sweep("reduce", "reduce_flat", [RING], 8, executor="x"), "has no submit"),
        (lambda: cs.sweep("reduce", "reduce_flat", [RING], []), "at least one nbytes"),
        (lambda: cs.lower_bound("broadcast", RING, 8, root=9), "root=9 is not a rank"),
        (lambda: cs.lower_bound("broadcast", RING, 8, ranks=9), "do not fit on"),
        (lambda: cs.algorithm("allreduce", steps=3), "steps is a function of n"),
        (lambda: cs.algorithm("allreduce")(None), "goes above a function"),
        (lambda: cs.simulate(PLAN, RING, 8, ranks=range(10**12)), "must be 4 ranks of"),
        (lambda: cs.program(PROGRAM, 2, 3), "unknown collective"),
        (lambda: cs.program(PROGRAM, 2, entry=[1]), "must be the name of a function"),
        (lambda: cs.program(PROGRAM, 2, arguments=3), "must be values by name"),
        (lambda: cs.program(PROGRAM, 2, late=np.array([1, 2])), "must be times by rank"),
        (lambda: cs.program(PROGRAM, 2, allow_unsandboxed=1), "must be True or False"),
        (lambda: cs.best_parallel("gpt2", "dgx-a100", batch=8, context_sizes=np.array(3)), "must be a list"),
        (lambda: PLAN.by_rank(True), "no rank True"),
        (lambda: cs.analysis.critical_path(PLAN), "wants a Trace"),
    ],
)
def test_the_sentence_says_what_was_wrong(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


def test_a_number_is_never_taken_for_an_open_file(tmp_path):
    """open(1) is standard output, and True is 1."""
    for number in (0, 1, 2, True):
        with pytest.raises(cs.CollsimError, match="is not a path"):
            cs.load(number)
    print("still here")  # it was closed


def test_infinity_can_be_shown():
    assert cs.format_time(float("inf")).startswith("∞")
    assert cs.format_bytes(float("nan")).startswith("NaN")


def test_numbers_of_any_kind_make_one_label():
    for chunks in (4, np.int32(4), 4.0, "4"):
        assert cs.schedule("allreduce_tree", ranks=4, chunks=chunks).label == "allreduce_tree(4, chunks=4)"


def test_a_width_of_numpy_is_a_number():
    assert type(cs.copy(0, 1, chunk=0, width=np.int32(3)).width) is int


def test_a_tuple_is_compared_with_tuples_alone():
    row = (np.arange(2), "a")
    assert not any(
        are_equal(*pair) for other in (np.float64(2), pd.DataFrame({"a": [1]})) for pair in ((row, other), (other, row))
    )


def test_a_table_of_options_may_be_an_array():
    given = ("broadcast_chain", {"chunks": np.array([1, 4])})
    frame = cs.sweep("broadcast", given, [RING], np.array([8, 16]), order=np.arange(4)[::-1])
    assert frame["error"].isna().all()
    assert list(frame["options"]) == 2 * ['{"chunks": 1}'] + 2 * ['{"chunks": 4}']


def test_one_step_or_a_schedule_is_a_sequence_of_steps():
    assert len(list(cs.steps.reverse(STEP))) == 1
    assert len(list(cs.steps.together(PLAN, PLAN))) == PLAN.steps


def test_the_path_may_be_a_text_or_a_path(tmp_path):
    assert RUN.save(str(tmp_path / "a.json")).exists()
    assert RUN.save(Path(tmp_path) / "b.json").exists()


@pytest.mark.parametrize("ratio", [None, True, "2", 0, -1, float("nan"), [1, 2]])
def test_oversubscription_is_one_number(ratio):
    with pytest.raises(cs.TopologyError, match="oversubscription"):
        cs.machine("dgx-h100", nodes=4, fabric="leaf-spine", oversubscription=ratio)


def test_whole_numbers_in_a_name_look_whole():
    assert cs.machine("dgx-h100", nodes=4.0, fabric="leaf-spine", oversubscription=2.0).name == (
        "dgx-h100(nodes=4, fabric=leaf-spine, oversubscription=2)"
    )


def test_a_distribution_has_an_end():
    with pytest.raises(cs.CollsimError, match="runs"):
        cs.simulate_many(cs.schedule("allreduce_ring", ranks=2), cs.topology.ring(2), "1KiB", jitter="1us", runs=10**9)


def test_a_part_of_a_name_finds_the_names_that_contain_it():
    with pytest.raises(cs.CollsimError, match=r"did you mean .*'allreduce_ring'"):
        cs.schedule("ring", ranks=4)
