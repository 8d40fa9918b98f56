"""A plan file says the same as the call, and its errors name the line."""

import pytest

import collsim as cs
from collsim.sweep import read_plan

PLAN = """\
collective: allreduce
algorithm:
  - allreduce_ring
  - {name: allreduce_tree, chunks: [1, 4]}
topology:
  - switch(8)
  - {machine: dgx-a100, nodes: [1, 2], p2p: [true, false], scaled: {nvlink: 2}}
nbytes: 1KiB:1MiB:32
order: [given, reversed]
"""


def test_a_plan_is_the_call_written_down(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    frame = cs.sweep(**read_plan(path))
    # 5 topologies (a switch; 1 or 2 nodes, with or without P2P), 2 orders, 3 algorithm choices, 3 sizes
    assert len(frame) == 5 * 2 * 3 * 3
    assert frame.error.isna().all()
    assert set(frame.order) == {"given", "reversed"}
    assert any("nvlink" in name for name in frame.topology)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("collective: allreduce\ntopolgy: switch(8)\n", "line 2: unknown key 'topolgy'; did you mean 'topology'"),
        ("topology: switch(8)\n\nnbytes: 64M\n", "line 3: .*ambiguous"),
        ("topology: switch(8)\nalgorithm:\n  - {chunks: 2}\n", "line 2: .*has no name"),
        (
            "topology: switch(8)\nalgorithm:\n  - allreduce_ring\n  - allreduce_tre\n",
            "line 4: unknown algorithm 'allreduce_tre'; did you mean",
        ),
        ("topology: switch(8)\nalgorithm:\n  - nccl\n  - {name: 3}\n", "line 4: "),
        ("topology:\n  - switch(8)\n  - swich(8)\n", "line 3: unknown topology 'swich'; did you mean 'switch'"),
        ("topology:\n  - switch(8)\n  - {machine: dgx-a10}\n", "line 3: unknown machine 'dgx-a10'"),
        ("collective: all\ntopology: switch(8)\n", "line 1: unknown collective 'all'"),
        ("topology: switch(8)\n\nengine: lockstepp\n", "line 3: unknown engine 'lockstepp'"),
        ("topology: switch(8)\ndtype: [float32,\n  float33]\n", "line 3: .*float33"),
        ("topology: [switch(8)\n", "line 2 is not YAML"),
        ("- a\n- b\n", "line 1: a plan is a mapping"),
        ("", "line 1: a plan is a mapping"),
        ("collective: allreduce\n", "needs a topology"),
        ("topology:\n", "line 1: topology is empty"),
        (
            "topology: ring(4)\nnbytes: 1KiB\ntopology: ring(8)\n",
            "line 3: key 'topology' is there twice, first in line 1",
        ),
        ("a: &x [1, 2]\ntopology: [*x, *x]\n", "line 2: refused, aliases"),
    ],
)
def test_mistakes_name_the_line(tmp_path, text, sentence):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(cs.FormatError, match=sentence):
        read_plan(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: " + b"[" * 100_000, b"a: &x [*x, *x]\n", b"x" * 2_000_000])
def test_hostile_files_are_refused(tmp_path, content):
    path = tmp_path / "plan.yaml"
    path.write_bytes(content)
    with pytest.raises(cs.FormatError):
        read_plan(path)
