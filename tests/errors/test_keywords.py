"""Keywords that people guess from other tools are answered with the word that collsim has for them."""

import inspect

import pytest

import collsim as cs
from collsim.collective import get_collective
from collsim.dtypes import find_itemsize, list_dtypes
from collsim.errors.arguments import check_arguments
from collsim.locale.synonyms import find_synonyms, load_synonyms
from collsim.sweep import close_gap

SWITCH = cs.topology.switch(8)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: cs.schedule("allreduce_ring", 8, num_nodes=2), r"num_nodes=.*cs.machine\('dgx-a100', nodes=2\)"),
        (lambda: cs.compare("allreduce", SWITCH, algorithms=["allreduce_ring"]), "did you mean 'algorithm'"),
        (lambda: cs.sweep("allreduce", topologies=[SWITCH]), "did you mean 'topology'"),
        (lambda: cs.sweep("allreduce", None, SWITCH, sizes=["1MiB"]), "did you mean 'nbytes'"),
        (lambda: cs.nccl.predict("allreduce", "dgx-a100", "1MiB", dtype="float16"), "depend on bytes alone; nbytes="),
        (lambda: cs.nccl.predict("allreduce", "dgx-a100", "1MiB", precision="fp16"), "predict has no precision=: its"),
        (lambda: cs.best("allreduce", SWITCH, size="1MiB"), "did you mean 'nbytes'"),
        (lambda: cs.best("allreduce", SWITCH, "1MiB", world_size=8), "the topology says how many ranks there are"),
        (lambda: cs.best("allreduce", SWITCH), r"best: missing a required argument: 'nbytes'; it is called as best\("),
        (lambda: cs.best("allreduce", "nowhere", "1MiB"), "unknown topology 'nowhere'"),
        (lambda: cs.crossover("allreduce_ring", "allreduce_tree", SWITCH, frist=1), "did you mean 'first'"),
        (lambda: cs.synthesize("allgather", SWITCH, n=4), "did you mean 'ranks'"),
        (lambda: cs.program("x = 1", world_size=4), "did you mean 'ranks'"),
        (lambda: cs.diagnose("log.txt", modle="gpt2"), "did you mean 'model'"),
        (lambda: cs.exercise(["ring-allreduce"]), "unknown exercise"),
        (lambda: cs.upgrades(), r"upgrades: missing a required argument: 'run'"),
        (lambda: cs.simulate_many("allreduce_ring", SWITCH, sizes=["1MiB"]), "did you mean 'nbytes'"),
        (lambda: close_gap("allgather", SWITCH, size="1MiB"), "did you mean 'nbytes'"),
        (lambda: cs.compare(["allreduce_ring"], SWITCH, "1MiB"), "one collective.*algorithm="),
        (lambda: cs.training_step("gpt2", "dgx-a100", parallel="fsdb"), "did you mean 'fsdp'"),
        (lambda: cs.machine("dgx-a100", nic="ConnectX-7"), "did you mean 'ib-ndr' or 'roce-400'"),
        (lambda: cs.machine("dgx-a100", nic="200G"), "did you mean 'ib-hdr' or 'roce-200' or 'tcp-200'"),
        (lambda: cs.machine("dgx-a100", network="ib-ndr"), "did you mean 'nic' or 'fabric'"),
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


@pytest.mark.parametrize(
    "function", [cs.best, cs.compare, cs.crossover, cs.sweep, cs.synthesize, close_gap, cs.simulate, cs.ddp]
)
def test_a_function_that_answers_keeps_its_signature_and_its_docstring(function):
    parameters = inspect.signature(function).parameters
    assert len(parameters) > 2
    assert function.__doc__


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: cs.topology.ring(n=8), "ranks"),
        (lambda: cs.topology.switch(world_size=8), "ranks"),
        (lambda: cs.topology.ring(8, latency="1us"), "alpha"),
        (lambda: cs.topology.fat_tree(4, bw=1e9), "bandwidth"),
        (lambda: cs.schedule("allreduce_ring", n=8), "ranks"),
        (lambda: cs.schedule("allreduce_ring", world_size=8), "ranks"),
        (lambda: cs.machine("dgx-a100", num_nodes=2), "nodes"),
        (lambda: cs.machine("dgx-a100", world_size=4), "gpus"),
        (lambda: cs.topology.switch(8).with_link("gpu0", "switch0", latency="1us"), "alpha"),
        (lambda: cs.lower_bound(collective="allreduce", topology=SWITCH, nbytes="1MiB"), "kind"),
        (lambda: cs.simulate(cs.schedule("allreduce_ring", 8), SWITCH, "1MiB", jiter="1us"), "jitter"),
        (lambda: cs.nccl.predict("allreduce", "dgx-a100", size="1MiB"), "nbytes"),
        (lambda: cs.training_step("resnet18", topology="dgx-a100", parallel=cs.ddp(), batch=64), "machine"),
        (lambda: cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch_size=64), "batch"),
        (lambda: cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=64, precision="fp16"), "dtype"),
        (lambda: cs.best_parallel("gpt2", "dgx-a100", batch_size=32), "batch"),
        (lambda: cs.ddp(bucket_size="25MiB"), "bucket"),
        (lambda: cs.run_for_real(cs.schedule("allreduce_ring", 2), size="1KiB"), "nbytes"),
        (lambda: cs.machine("dgx-a100", num_gpus=4), "gpus"),
        (lambda: cs.training_step("resnet18", "dgx-a100", BS=32), "batch"),
        (lambda: cs.collectives()["scatter-reduce"], "reduce_scatter"),
        (lambda: cs.machine("dgx-a100", odersubscription=2), "oversubscription"),
        (lambda: cs.simulate(cs.schedule("allreduce_ring", 4), cs.topology.ring(4), size="1MiB"), "nbytes"),
        (lambda: cs.simulate(cs.schedule("allreduce_ring", 4), cs.topology.ring(4), "1MiB", dtype="单精度"), "float32"),
    ],
)
def test_a_word_of_another_tool_is_answered_with_ours(call, answer):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{answer}'"):
        call()


def test_a_word_that_is_known_is_no_synonym():
    assert find_synonyms("latency", ["alpha", "bandwidth"]) == ["alpha"]
    assert find_synonyms("latency", ["bandwidth"]) == []
    assert find_synonyms("num_gpus", ["ranks", "gpus"]) == ["gpus", "ranks"]
    assert all(word not in meanings for word, meanings in load_synonyms().items())


def test_a_checked_function_is_what_it_was():
    @check_arguments
    def add(a, b=2, *, c=0):
        """Add."""
        return a + b + c

    assert (add(1), add(1, 1, c=3), add.__name__, add.__doc__) == (3, 5, "add", "Add.")
    with pytest.raises(cs.CollsimError, match=r"missing a required argument: 'a'; it is called as add\(a, ...\)"):
        add()
    with pytest.raises(cs.CollsimError, match="unknown keyword of add 'd'; known: a, b, c"):
        add(1, d=1)
    with pytest.raises(TypeError, match="unsupported operand"):  # its arguments are complete: the error is its own
        add(1, "b")


@pytest.mark.parametrize(
    ("word", "likeliest"),
    [
        ("ring_allreduce", "allreduce_ring"),
        ("Ring-Allreduce", "allreduce_ring"),
        ("all_reduce_ring", "allreduce_ring"),
        ("tree_allreduce", "allreduce_tree"),
        ("Scatter-Reduce", "reduce_scatter_ring"),
        ("PS", "allreduce_parameter_server"),
        ("BS", "allreduce_parameter_server"),
        ("参数服务器", "allreduce_parameter_server"),
        ("双二叉树", "allreduce_double_binary_tree"),
        ("环形全归约", "allreduce_ring"),
        ("ring", "allreduce_ring"),
        ("AllReduce", "allreduce_ring"),
        ("nvls", "allreduce_nvls"),
        ("递归倍增", "allreduce_recursive_doubling"),
        ("分层全归约", "allreduce_hierarchical"),
        ("树形", "allreduce_tree"),
        ("2D torus", "allreduce_torus_ring"),
        ("Horovod", "allreduce_ring"),
        ("P2P", "sendrecv_direct"),
        ("NVLSTree", "allreduce_nvls_tree"),
        ("RingAllReduce", "allreduce_ring"),
    ],
)
def test_an_algorithm_by_the_words_of_an_article_is_found(word, likeliest):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{likeliest}'"):
        cs.schedule(word, 8)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("scatter-reduce", "reduce_scatter"),
        ("ncclSend", "sendrecv"),
        ("ring-allreduce", "allreduce'?"),
    ],
)
def test_a_collective_by_the_name_of_a_library_is_found(word, meant):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{meant}'"):
        get_collective(word)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("MPI_DOUBLE", "float64"),
        ("long", "int64"),
        ("半精度", "float16"),
        ("TF32", "float32"),
    ],
)
def test_an_element_type_by_the_name_of_a_library_is_found(word, meant):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{meant}'"):
        find_itemsize(word)


@pytest.mark.parametrize(
    ("word", "collective"),
    [
        ("ncclAlltoAll", "alltoall"),
        ("ncclGather", "gather"),
        ("ncclScatter", "scatter"),
        ("ncclReduceScatter", "reduce_scatter"),
        ("MPI_Bcast", "broadcast"),
        ("dist.all_to_all_single", "alltoall"),
    ],
)
def test_a_call_of_a_library_suggests_algorithms_of_its_collective(word, collective):
    with pytest.raises(cs.CollsimError) as caught:
        cs.schedule(word, ranks=4)
    (first, *_) = str(caught.value).partition("did you mean ")[2].strip("?").split(" or ")
    assert cs.algorithms()[first.strip("'")].collective == collective


@pytest.mark.parametrize("word", ["ncclBool", "bool", "torch.bool", "布尔", "dist.reduce_grad"])
def test_what_no_library_has_is_said_to_be_absent(word):
    with pytest.raises(cs.CollsimError) as caught:
        find_itemsize(word)
    assert " has no " in str(caught.value)
    assert "没有" in caught.value.text("zh")


def test_no_name_that_there_is_means_another():
    known = [*cs.algorithms(), *cs.collectives(), *list_dtypes()]
    assert [name for name in known if find_synonyms(name.upper(), known)[:1] != [name]] == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("DistributedDataParallel", "ddp"),
        ("DataParallel", "data_parallel"),
        ("数据并行", "ddp"),
        ("model parallel", "tensor"),
        ("ZeRO-3", "zero"),
        ("专家并行", "expert"),
        ("FSDP2", "fsdp"),
    ],
)
def test_a_way_of_training_by_the_name_of_a_framework_is_found(word, meant):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{meant}'"):
        cs.train.parse_strategy(word)


@pytest.mark.parametrize(
    ("word", "answer"),
    [("V100", "'dgx-1v'"), ("L40S", "'pcie-8gpu'"), ("p4d.24xlarge", "'aws-p4d'"), ("昇腾", "no machine with NPUs")],
)
def test_a_machine_by_the_name_of_its_accelerator_is_found(word, answer):
    with pytest.raises(cs.TopologyError, match=answer):
        cs.machine(word)


@pytest.mark.parametrize(
    ("variable", "answer"),
    [("NCCL_IB_DISABLE", "nic='tcp-100'"), ("NCCL_SOCKET_IFNAME", "nic='tcp-100'"), ("NCCL_DEBUG", "and no time")],
)
def test_a_variable_of_nccl_that_no_prediction_reads_says_what_does(variable, answer):
    with pytest.raises(cs.CollsimError, match=answer):
        cs.nccl.predict("allreduce", "dgx-a100", "1MiB", **{variable: 1})


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: cs.collective("scatter-reduce"), "did you mean 'reduce_scatter'"),
        (lambda: cs.collective("allreduce"), r"did you mean cs.collectives\(\)\['allreduce'\]"),
        (lambda: cs.topology("ring", 8), r"did you mean cs.machine\('dgx-a100'\), or cs.topology.ring\(8\)"),
    ],
)
def test_a_module_that_is_called_says_what_is_meant(call, answer):
    with pytest.raises(cs.CollsimError, match=answer):
        call()


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("allreduce", "allreduce_ring"),
        ("ring_allreduce", "allreduce_ring"),
        ("Ring", "allreduce_ring"),
        ("Simulate", "simulate"),
        ("DDP", "did you mean 'ddp'"),
        ("DataParallel", "did you mean 'data_parallel'"),
        ("init_process_group", "did you mean 'program'"),
        ("xyzzy", "'xyzzy'; known: Algorithm, "),
    ],
)
def test_a_name_that_is_not_at_the_top_says_where_it_is(name, answer):
    with pytest.raises(AttributeError, match=answer):
        getattr(cs, name)


def test_an_argument_that_goes_by_keyword_alone_is_shown_as_one():
    with pytest.raises(cs.CollsimError, match=r"training_step\(model, machine, parallel=\.\.\., \.\.\.\)"):
        cs.training_step("resnet50", "pcie-8gpu", "ddp")


def test_a_topology_without_its_size_is_answered_as_it_is_written():
    with pytest.raises(cs.CollsimError, match=r"ring takes \(ranks, bandwidth=25GB/s, alpha=1us\)$"):
        cs.simulate(cs.schedule("allreduce_ring", 8), "ring", "1MiB")
