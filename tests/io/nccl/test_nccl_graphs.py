"""NCCL's graph file: the rings and trees of one node as schedules that verify."""

import pytest

import collsim as cs
from collsim.io import load

RING = "<channel>" + "".join(f'<gpu dev="{dev}"/>' for dev in (0, 2, 1, "a")) + "</channel>"
TREE = "<channel>" + "".join(f'<gpu dev="{dev}"/>' for dev in ("1", "0x0", "a", "2")) + "</channel>"


def write(path, rings, trees="", root="graphs"):
    ring = f'<graph id="0" pattern="4" nchannels="2" speedintra="12">{rings}</graph>'
    tree = f'<graph id="1" pattern="1" nchannels="1">{trees}</graph><graph id="3" pattern="5"><channel/></graph>'
    path.write_text(f'<{root} version="1">{ring}{tree}</{root}>')
    return path


def test_rings_and_trees_are_read(tmp_path):
    job = load(write(tmp_path / "graph.xml", RING * 2, TREE))
    assert (job.ranks, job.nodes) == (4, 1)
    assert job.rings == {0: (0, 2, 1, 3), 1: (0, 2, 1, 3)}
    assert job.trees == {0: (1, -1, 3, 0)}
    for pattern in ("ring", "tree"):
        cs.verify(job.schedule("allreduce", pattern))


@pytest.mark.parametrize(
    ("rings", "trees", "says"),
    [
        ('<channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="0"/></channel>', "", "leaves the node"),
        ("", TREE, "no channel of a ring"),
        ('<channel><gpu dev="0"/><gpu dev="0"/></channel>' + RING, "", "graph 0, channel 0"),
        (RING, '<channel><gpu dev="0"/></channel>', "graph 1, channel 0"),
        ('<channel><gpu dev="x"/></channel>', "", "hexadecimal"),
    ],
)
def test_what_is_no_ring_of_one_node_is_refused(rings, trees, says, tmp_path):
    with pytest.raises(cs.FormatError, match=says):
        load(write(tmp_path / "graph.xml", rings, trees))


def test_a_graph_file_is_no_machine(tmp_path):
    with pytest.raises(cs.FormatError, match=r"rings and trees and no machine.*NCCL_TOPO_DUMP_FILE"):
        cs.load_topology(write(tmp_path / "graph.xml", RING))
