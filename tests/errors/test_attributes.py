"""Attributes that people guess from other libraries are answered with the one that is there."""

import copy
import pickle
import re

import pytest

import collsim as cs
from collsim.errors.attributes import NamesNearAttributes

SCHEDULE = cs.schedule("allreduce_ring", 4)
NETWORK = cs.topology.switch(4)
TRACE = cs.simulate(SCHEDULE, NETWORK, "1MiB")


@pytest.mark.parametrize(
    ("value", "guess", "answer"),
    [
        (TRACE, "plot", "did you mean 'animate' or 'save'"),
        (TRACE, "to_dataframe", "did you mean 'to_frame'"),
        (TRACE, "total_time", "did you mean 'time'"),
        (TRACE, "bus_bandwidth", "did you mean 'busbw'"),
        (TRACE, "bottlenecks", "did you mean 'bottleneck'"),
        (SCHEDULE, "world_size", "did you mean 'ranks'"),
        (SCHEDULE, "simulate", "call cs.simulate(schedule, ...)"),
        (SCHEDULE, "quux", "known: by_chunk, by_rank"),
        (NETWORK, "num_gpus", "did you mean 'ranks'"),
        (NETWORK, "graph", "did you mean 'to_networkx'"),
        (TRACE, "latency", "did you mean 'time'"),
        (TRACE, "algorithm_bandwidth", "did you mean 'busbw' or 'algbw'"),
        (cs.topology, "mesh2d", "unknown name of cs.topology 'mesh2d'; did you mean 'mesh'"),
        (cs.train, "DataParallelStrategy", "'ParallelStrategy' or 'DataParallel'"),
        (cs.io, "load_msccl", "did you mean 'read_msccl'"),
        (cs.lab, "run", "did you mean 'run_for_real'"),
        (cs, "DistributedSampler", "(the glossary: gives each rank its own part of the data set"),
        (cs, "DistributedDataParallel", "did you mean 'ddp'?"),
        (cs, "MPI_COMM_WORLD", "(the glossary: "),
        (cs, "Lightning", "(the glossary: "),
        (cs, "ncclAllReduce", "cs.schedule('allreduce_ring', ranks=8) builds one"),
        (cs.train, "GradScaler", "(the glossary: mixed precision of PyTorch"),
        (cs.nccl, "ncclCommSplit", "(the glossary: makes a communicator of some ranks"),
        (cs.nccl, "predictt", "did you mean 'predict'"),
    ],
)
def test_a_guess_is_answered(value, guess, answer):
    with pytest.raises(AttributeError, match=re.escape(answer)):
        getattr(value, guess)
    assert not hasattr(value, guess)


@pytest.mark.parametrize("name", SCHEDULE._functions)
def test_a_function_that_is_named_takes_a_schedule_first(name):
    assert callable(getattr(cs, name))


def test_step_of_training_answers_too():
    step = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=64)
    with pytest.raises(AttributeError, match="did you mean 'samples_per_second' or 'tokens_per_second'"):
        getattr(step, "throughput")  # noqa: B009


def test_property_that_fails_shows_its_own_error():
    class Result(NamesNearAttributes):
        @property
        def links(self):
            return None.bytes

    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'bytes'"):
        getattr(Result(), "links")  # noqa: B009


def test_copies_and_pickles_are_the_same_schedule():
    for twin in (copy.copy(SCHEDULE), copy.deepcopy(SCHEDULE), pickle.loads(pickle.dumps(SCHEDULE))):
        assert twin == SCHEDULE


@pytest.mark.parametrize("collective", sorted({*cs.collectives()} - {"reduce"}))  # cs.reduce makes a step
def test_example_for_the_name_of_a_collective_runs(collective):
    with pytest.raises(AttributeError) as error:
        getattr(cs, collective)
    name = re.search(r"cs\.schedule\('(\w+)', ranks=8\)", str(error.value))[1]
    assert cs.schedule(name, ranks=8).collective == collective


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        ("all_reduce", "allreduce_ring"),
        ("Machine", "'machine'?"),
        ("validate", "'verify'?"),
        ("predict", "'nccl'?"),
        ("reduce_grad", "DDP"),
    ],
)
def test_name_of_another_library_is_answered_at_the_top(guess, answer):
    with pytest.raises(AttributeError, match=re.escape(answer)):
        getattr(cs, guess)
