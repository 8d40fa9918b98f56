"""Steps of training: how long one takes to work out. Counts are asserted, times are printed."""

from dataclasses import replace

import collsim as cs
from collsim.app.pages.train import step_scenarios
from collsim.app.pages.train.training_choice import PLAIN

BOX = cs.machine("dgx-a100", nodes=2)


def test_resnet50_on_two_dgx_a100(benchmark):
    """The bar is 0.2 s, with the explanation; the machine's rings are searched once, before."""

    def run():
        t = cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=16 * 256)
        t.explain()
        return t

    run()
    trace = benchmark.pedantic(run, rounds=5)
    assert list(trace.tasks.query("kind == 'allreduce'").nbytes) == cs.ddp().list_bucket_bytes(cs.model("resnet50"))


def test_the_same_on_one_shared_network(benchmark):
    def run():
        return cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=16 * 256, network="shared")

    run()
    trace = benchmark.pedantic(run, rounds=3)
    assert trace.link_bytes.sum() > 16 * 2 * 15 / 16 * cs.model("resnet50").nbytes


def test_a_u_curve_of_bucket_sizes(benchmark):
    """Thirty sizes of a slider."""
    first = cs.training_step("bert-large", BOX, parallel=cs.ddp(), batch=16 * 8)

    def run():
        return [first.what_if(bucket=int(2**18 * 1.3**i)) for i in range(30)]

    traces = benchmark.pedantic(run, rounds=1)
    assert len(traces) == 30


SPLIT = {
    "parallel": cs.tensor(8) * cs.pipeline(16) * cs.ddp(),
    "micro_batch": 1,
    "dtype": "bfloat16",
    "recompute": "full",
}


def test_1024_gpus_with_three_ways_of_splitting(benchmark):
    """The bar is 2 s: GPT-3 on 128 nodes, 192 microbatches through 16 stages."""
    box = cs.machine("dgx-a100", nodes=128)
    cs.training_step("gpt3-175b", box, batch=1536, **SPLIT)
    trace = benchmark.pedantic(lambda: cs.training_step("gpt3-175b", box, batch=1536, **SPLIT), rounds=3)
    assert sum(task.kind in ("forward", "backward") for task in trace.step.tasks) >= 2 * 16 * 192


def test_the_same_1024_gpus_on_one_shared_network(benchmark):
    """What meets no other collective on a link is not written out."""
    box = cs.machine("dgx-a100", nodes=128)
    run = lambda: cs.training_step("gpt3-175b", box, batch=1536, network="shared", **SPLIT)  # noqa: E731
    run()
    trace = benchmark.pedantic(run, rounds=3)
    assert len(trace.step.collectives) > 10_000


def test_16384_gpus_with_three_ways_of_splitting(benchmark):
    """The bar is 20 s."""
    box = cs.machine("dgx-a100", nodes=2048)
    run = lambda: cs.training_step("gpt3-175b", box, batch=16384, **SPLIT)  # noqa: E731
    trace = benchmark.pedantic(run, rounds=2, warmup_rounds=1)
    assert trace.step.ranks == 16384


def test_the_search_over_1024_gpus(benchmark):
    """The bar is 30 s, from nothing; ten of the splits are run."""
    box = cs.machine("dgx-a100", nodes=128)
    frame = benchmark.pedantic(lambda: cs.best_parallel("gpt3-175b", box, batch=1536, every=True), rounds=1)
    assert len(frame) > 2000
    assert frame.timed.sum() == 10


def test_the_search_over_16384_gpus(benchmark):
    box = cs.machine("dgx-a100", nodes=2048)
    frame = benchmark.pedantic(lambda: cs.best_parallel("gpt3-175b", box, batch=16384), rounds=1)
    assert frame.timed.sum() == 10


def test_a_repaint_of_the_page_train(benchmark):
    """Another batch: the step, its five switches, the curve and the bucket that is open. The bar is 0.5 s."""
    sizes = iter(range(1, 100))

    def run():
        choice = replace(PLAIN, samples=next(sizes))
        step_shown = step_scenarios.compute_step(choice)
        collective = step_scenarios.find_collective(step_shown.document["collectives"], "")
        return step_shown, step_scenarios.open_collective(choice, collective["task"])

    run()
    step_shown, opened = benchmark.pedantic(run, rounds=5)
    assert len(step_shown.changes) == 5
    assert len(step_shown.curve) == len(step_scenarios.CAPS)
    assert opened.timeline is not None
