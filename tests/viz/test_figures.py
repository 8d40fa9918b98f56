"""What a notebook shows of a Schedule, a Topology, a Trace and a StepTrace: tables with the words and numbers of
`print`, without script, escaped, small whatever is shown."""

from html import escape
from html.parser import HTMLParser

import pytest

import collsim as cs
from collsim.display.markup import bind_units
from collsim.viz.hosts import notebook_tables


class Read(HTMLParser):
    """The rows of the tables in a piece of HTML, and every tag; a tag that is not closed is an error."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.open, self.text = [], set(), [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.rows and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(text):
    found = Read(text)
    assert found.tags <= {"div", "table", "caption", "thead", "tr", "th", "td"}, "no script, nothing from elsewhere"
    return found


@pytest.fixture(scope="module")
def two():
    return cs.machine("dgx-a100", nodes=2)


def test_a_small_schedule_shows_every_cell_that_print_shows():
    plan = cs.schedule("allreduce_ring", ranks=4)
    _, head, *lines = str(plan).splitlines()
    shown = read(plan._repr_html_()).rows
    assert shown[0][1:] == [f"step {k}" for k in range(1, plan.steps + 1)] == head.replace("  ", "\t").split("\t")[-6:]
    assert [" ".join(row) for row in shown[1:]] == [" ".join(line.split()) for line in lines]


def test_what_a_large_schedule_leaves_out_is_counted_and_it_stays_small():
    plan = cs.schedule("allreduce_ring", ranks=64)
    shown = read(plan._repr_html_())
    ranks, steps = len(shown.rows) - 1, len(shown.rows[0]) - 1
    assert f"{64 - ranks} more endpoints and {126 - steps} more steps not shown" in shown.text
    million = cs.schedule("allreduce_parameter_server", ranks=4096)
    assert max(len(p._repr_html_()) for p in (plan, million, cs.schedule("alltoall_direct", ranks=512))) < 60_000


def test_a_topology_counts_the_links_of_each_kind(two):
    head, *rows = read(two._repr_html_()).rows
    assert head[2] == "links"
    assert sum(int(row[2].replace(",", "")) for row in rows) == len(two.links)
    by_kind = {row[0]: row for row in rows}
    infiniband = [" ".join(cell.split()) for cell in by_kind["infiniband"]]
    assert infiniband[1:4] == ["IB HDR", "32", "25 GB/s"]  # 16 cards, up and down, 200 Gbit/s each
    assert "16 gpu" in read(two._repr_html_()).text
    assert "nic" in read(two._repr_html_()).text


def test_a_cable_that_was_changed_shows_its_lowest_and_highest_bandwidth(two):
    slow = two.with_link("node0/nic3", "fabric/switch0", bandwidth="5GB/s")
    rows = [" ".join(" ".join(row).split()) for row in read(slow._repr_html_()).rows]
    assert any("infiniband IB HDR" in row and "5 GB/s" in row for row in rows), rows


@pytest.mark.parametrize("kind", ["run", "training step"])
def test_a_run_shows_the_figures_that_print_shows_above_the_player(kind, two):
    if kind == "run":
        trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
    else:
        trace = cs.training_step("resnet50", two, parallel=cs.ddp(), batch=16 * 32)
    table, frame, _ = trace._repr_html_().partition("<iframe")
    assert frame
    said = [" ".join(line.split()) for line in str(trace).splitlines()]
    shown = read(table)
    assert [" ".join(" ".join(row).split()) for row in shown.rows] == said[1:]
    assert said[0] in " ".join(shown.text.split())


def test_a_run_that_is_too_large_to_be_drawn_shows_its_figures():
    ring = cs.topology.ring(512)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=ring), ring, "1GiB")
    assert bind_units(cs.format_time(trace.time)) in read(trace._repr_html_()).text


def test_names_of_a_strangers_are_text():
    name = "<script>alert('x')</script>&"

    def steps(n):
        yield cs.copy(0, 1, chunk=0)

    steps.__name__ = name
    plan = cs.algorithm("broadcast", name=name)(steps)(2)
    assert escape(name) in plan._repr_html_()
    assert "<script" not in plan._repr_html_()
    assert "<script" not in notebook_tables.format_printed_trace(f"a {name}\n{name} {name}")


def test_the_package_shows_no_html_machinery_before_it_is_asked():
    """The tables bring neither matplotlib nor Pillow."""
    import subprocess
    import sys

    code = (
        "import sys, collsim as cs; cs.topology.switch(4)._repr_html_(); cs.schedule('allreduce_ring', ranks=4)."
        "_repr_html_(); print(sorted({m.split('.')[0] for m in sys.modules} & {'matplotlib', 'PIL'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
