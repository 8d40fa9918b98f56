"""Steps of training: how long one takes to work out. Counts are asserted, times are printed."""

import collsim as cs

BOX = cs.machine("dgx-a100", nodes=2)


def test_resnet50_on_two_dgx_a100(benchmark):
    """The bar is 0.2 s, with the explanation; the machine's rings are searched once, before."""

    def run():
        t = cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=16 * 256)
        t.explain()
        return t

    run()
    trace = benchmark.pedantic(run, rounds=5)
    assert list(trace.tasks.query("kind == 'allreduce'").nbytes) == cs.ddp().buckets(cs.model("resnet50"))


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
