"""One physics: on random machines, placements and settings a prediction is a simulation of the same algorithm and terms
with names, each of which can be turned off."""

import random
from dataclasses import replace

import pytest

import collsim as cs
from collsim.nccl import TERMS, LinkParameters, predict
from collsim.nccl.difference import compute_stated_time, compute_terms
from collsim.nccl.predicted_schedule import measure_simulation_terms, predict_and_simulate

CASES = 200
MACHINES = [name for name in cs.machines() if not name.startswith(("cpu-", "tpu-"))]
CARDS = ("ib-ndr", "ib-hdr", "ib-edr", "roce-100", "roce-25", "tcp-10", "tcp-100")
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv")
#: Words of the messages that refuse what is no case: NCCL has no such algorithm there, no cable joins the ranks, or the
#: machine has no such part.
REFUSALS = (
    "leave nothing for",
    "cannot reach",
    "share no memory",
    "each node takes part",
    "no network card",
)


def draw_settings(rng, nodes):
    settings = {}
    if rng.random() < 0.3:
        settings["NCCL_ALGO"] = rng.choice(["Ring", "Tree"])
    if rng.random() < 0.2:
        settings["NCCL_P2P_DISABLE"] = 1
    if rng.random() < 0.1:
        settings["NCCL_P2P_LEVEL"] = rng.choice(["NVL", "PIX", "PXB", "SYS"])
    if rng.random() < 0.15:
        settings["NCCL_SHM_DISABLE"] = 1
    if rng.random() < 0.2:
        settings["NCCL_NET_GDR_LEVEL"] = rng.choice(["LOC", "PIX", "PHB", "SYS"])
    if rng.random() < 0.2:
        settings["NCCL_MAX_NCHANNELS"] = rng.choice([2, 4, 8])
    if rng.random() < 0.25:
        settings["ranks"] = nodes * rng.choice([1, 2, 4])
    return settings


def draw_machine(rng):
    """A machine of the catalogue, as it is or with other GPUs, slots, cards, routes and fabric."""
    name = rng.choice(MACHINES)
    nodes = rng.choice([1, 1, 2, 4, 8, 16])
    options = {"nodes": min(nodes, 2) if name == "gb200-nvl72" else nodes}
    if rng.random() < 0.3:
        options["p2p"] = rng.choice([False, "NVL", "PIX", "PXB", "SYS"])
    if rng.random() < 0.3:
        options["gdr"] = rng.choice([False, "PIX", "PHB"])
    if options["nodes"] > 1 and rng.random() < 0.5:
        options["nic"] = rng.choice(CARDS)
    if options["nodes"] > 1 and rng.random() < 0.2:
        options["fabric"] = rng.choice(["rail", "leaf-spine"])
    if rng.random() < 0.3:
        options["placement"] = "round-robin"
    if rng.random() < 0.2 and "nvl" not in name:
        options["pcie"] = rng.choice([3, 4, 5])
    if rng.random() < 0.2 and "nvl" not in name:
        options["gpus"] = rng.choice([2, 4])
    return name, options


def draw_cases(seed, count):
    """`count` cases that NCCL runs: name, arguments, prediction and simulation."""
    rng, cases = random.Random(seed), []
    while len(cases) < count:
        name, options = draw_machine(rng)
        settings = draw_settings(rng, options["nodes"])
        collective, nbytes = rng.choice(COLLECTIVES), rng.choice([2**28, 2**30, 2**32])
        try:
            machine = cs.machine(name, **options)
            prediction, run = predict_and_simulate(collective, machine, nbytes, **settings)
        except cs.CollsimError as error:
            if not any(words in str(error) for words in REFUSALS):
                raise
            continue
        if prediction.facts.ranks > 1:
            cases.append(((name, options, collective, nbytes, settings), prediction, run))
    return cases


@pytest.fixture(scope="module", params=[CASES // 10, pytest.param(CASES, marks=pytest.mark.slow)])
def cases(request):
    return draw_cases(35, request.param)


def test_a_prediction_is_the_simulation_and_the_named_terms(cases):
    outside = []
    for words, prediction, run in cases:
        on_links = run.time - sum(measure_simulation_terms(run).values())
        total = on_links + sum(compute_terms(prediction.call).values())
        if not prediction.low <= total <= prediction.high:
            outside.append((words, total / prediction.time))
    assert outside == []


def test_without_its_terms_a_prediction_is_the_simulation(cases):
    """Bytes on links at their nominal rates are one number, whoever counts them."""
    apart = []
    for words, prediction, run in cases:
        on_links = run.time - sum(measure_simulation_terms(run).values())
        if compute_stated_time(prediction.call) != pytest.approx(on_links, rel=0.2):
            apart.append((words, on_links / compute_stated_time(prediction.call)))
    # trees of few chunks, whose filling is no straight line of their size
    assert len(apart) <= len(cases) // 100, apart


def test_every_term_is_turned_off_by_its_name(cases):
    """The terms of a call add up to its time, and a term that is off takes none of it."""
    seen = dict.fromkeys(TERMS, 0)
    for _, prediction, _ in cases:
        terms = compute_terms(prediction.call)
        assert sum(terms.values()) + compute_stated_time(prediction.call) == pytest.approx(prediction.time)
        for term in TERMS:
            call = replace(prediction.call, links=LinkParameters().without(term))
            seen[term] += abs(terms[term]) > 1e-9
            assert compute_terms(call)[term] == pytest.approx(0, abs=1e-12)
    assert all(seen[term] for term in TERMS if term not in ("alignment", "protocol")), seen
    with pytest.raises(cs.CollsimError, match="unknown term 'rates'"):
        LinkParameters().without("rates")


def test_the_rate_of_links_is_a_parameter_of_predict():
    """7/8 GiB over 300 GB/s of NVLink, in a ring of eight GPUs."""
    bare = LinkParameters().without(*TERMS)
    prediction = predict("allgather", cs.machine("dgx-a100"), "1GiB", links=bare)
    assert prediction.time == pytest.approx(7 / 8 * 2**30 / 300e9)
    measured = predict("allgather", cs.machine("dgx-a100"), "1GiB")
    assert measured.time > prediction.time / 0.8


def test_settings_route_the_simulation_too():
    """Without P2P a ring of a DGX A100 crosses host memory, without shared memory the network cards."""
    machine = cs.machine("dgx-a100", nodes=2)
    carried = {}
    for name, settings in (
        ("", {}),
        ("p2p", {"NCCL_P2P_DISABLE": 1}),
        ("shm", {"NCCL_P2P_DISABLE": 1, "NCCL_SHM_DISABLE": 1}),
    ):
        _, run = predict_and_simulate("allreduce", machine, "1GiB", NCCL_ALGO="Ring", **settings)
        carried[name] = run.links.groupby("kind")["bytes"].sum()
    assert carried[""]["memory"] == 0 < carried["p2p"]["memory"]
    assert carried["p2p"]["nvlink"] == carried["shm"]["nvlink"] == carried["shm"]["memory"] == 0
    # every one of 16 hops goes out by a card and comes back by one; before only the two between nodes did
    assert carried["shm"]["infiniband"] == pytest.approx(8 * carried["p2p"]["infiniband"])


@pytest.mark.parametrize("name", ["pcie-8gpu", "rtx4090-8gpu", "dgx-a100"])
def test_one_node_without_shared_memory_sends_over_its_cards(name):
    """One switch joins the cards of a single node; the setting of NCCL and that of the machine are one."""
    settings = {"NCCL_P2P_DISABLE": 1, "NCCL_SHM_DISABLE": 1}
    prediction, run = predict_and_simulate("allreduce", cs.machine(name), "1GiB", **settings)
    assert run.bottleneck.kind in ("infiniband", "ethernet")
    assert prediction.time / 2 < run.time < prediction.time
    by_machine = cs.machine(name, p2p=False, shm=False)
    again, same = predict_and_simulate("allreduce", by_machine, "1GiB")
    assert (again.time, same.time) == (prediction.time, run.time)
    assert cs.simulate(cs.schedule("allreduce_ring", topology=by_machine), by_machine, "1GiB").time > 0
    # what was set for the machine can be set back for a call
    shared = predict("allreduce", by_machine, "1GiB", NCCL_SHM_DISABLE=0)
    assert shared.time == predict("allreduce", cs.machine(name, p2p=False), "1GiB").time


def test_ranks_are_numbered_node_by_node_whatever_their_placement():
    by_node, round_robin = (cs.machine("dgx-a100", nodes=2, placement=order) for order in ("node", "round-robin"))
    runs = [predict_and_simulate("allreduce", machine, "1GiB")[1] for machine in (by_node, round_robin)]
    assert runs[0].time == pytest.approx(runs[1].time)
    # sends name their ranks: next to next is on another node
    by_node, round_robin = (cs.machine("pcie-8gpu", nodes=2, placement=order) for order in ("node", "round-robin"))
    near, far = (predict_and_simulate("sendrecv", machine, "1GiB") for machine in (by_node, round_robin))
    assert far[0].time > near[0].time
    assert far[1].time > near[1].time


def test_channels_of_a_long_chain_do_not_hold_one_another_up():
    """144 hops and 16 chunks: with barriers the slow hop between nodes lies at another depth for each channel."""
    _, run = predict_and_simulate("reduce", cs.machine("gb200-nvl72", nodes=2, nic="roce-25"), 2**28)
    on_links = run.time - sum(measure_simulation_terms(run).values())
    assert on_links == pytest.approx(2**28 / (32 * 3.125e9), rel=0.05)  # 32 cards of 25 Gbit/s


def test_neighbours_that_write_to_one_another_need_no_card():
    """Without shared memory GPUs count as nodes, but those under one switch still have their switch."""
    machine = cs.machine("pcie-8gpu", gdr="PIX", pcie=5)
    for collective in ("allreduce", "sendrecv"):
        with_cards = predict(collective, machine, "1GiB", ranks=2, NCCL_SHM_DISABLE=1)
        assert with_cards.time == pytest.approx(predict(collective, machine, "1GiB", ranks=2).time, rel=0.01)


def test_the_first_generations_of_pcie_have_a_rate_too():
    rates = [predict("allreduce", cs.machine("pcie-8gpu", pcie=pcie), "1GiB").busbw for pcie in (1, 2, 3)]
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.02)
    assert rates[2] == pytest.approx(2 * rates[1], rel=0.05)


def test_nodes_with_different_numbers_of_ranks_take_the_time_of_the_slower_sort():
    """Four GPUs of a DGX H100 have four cards, five have five; NCCL takes the least channels of all nodes."""
    machine = cs.machine("dgx-h100", nodes=2)
    of_eight, of_nine, of_ten = (predict("allgather", machine, "1GiB", ranks=ranks) for ranks in (8, 9, 10))
    # 8/9 of the buffer in place of 7/8, on the same four cards
    assert of_nine.time == pytest.approx(of_eight.time * (8 / 9) / (7 / 8), rel=0.02)
    assert of_nine.time > 1.2 * of_ten.time
    assert of_nine.facts.ranks == 9
    assert "nodes have 5 and 4 ranks" in of_nine.notes[-1]
    _, run = predict_and_simulate("allgather", machine, "1GiB", ranks=9)
    assert 0.8 * of_nine.time < run.time < of_nine.time
    # each node's rings are those of its own search: all five GPUs of the first, four channels through both
    assert run.topology.orders.shape == (4, 9)
    assert (run.topology.orders[:, :5] < 5).all()


def test_a_head_of_nvls_sends_over_its_own_card():
    """Eight GPUs with four cards have four heads, each with a card that is not the nearest of all of them."""
    machine = cs.machine("dgx-h100", nodes=2, nics=4)
    prediction, run = predict_and_simulate("allreduce", machine, "1GiB", NCCL_ALGO="NVLSTree")
    on_links = run.time - sum(measure_simulation_terms(run).values())
    assert prediction.graph_search.heads.cards == (0, 1, 2, 3)
    assert compute_stated_time(prediction.call) == pytest.approx(2**30 / (4 * 50e9))
    assert compute_stated_time(prediction.call) == pytest.approx(on_links, rel=0.05)
