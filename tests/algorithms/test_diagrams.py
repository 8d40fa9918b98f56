"""Golden text diagrams for n = 4 and 5: what an algorithm does may not change unseen.

After a change that is meant: `python tests/algorithms/test_diagrams.py` writes diagrams.txt anew, and the diff is to be
read.
"""

from pathlib import Path

import pytest

import collsim as cs

GOLDEN = Path(__file__).with_name("diagrams.txt")


def diagrams():
    """Text of all diagrams, one algorithm after another."""
    parts = []
    for entry in cs.algorithms().values():
        parts += [str(entry(n)) for n in (4, 5) if entry.ranks is None or entry.ranks(n) is None]
    return "\n\n".join(parts) + "\n"


def test_diagrams_are_the_golden_ones():
    assert diagrams() == GOLDEN.read_text()


BY_HAND = {
    # Open MPI's comment in coll_base_allgather.c for the ring; NCCL's positions: rank r starts with chunk r and adds on
    # arrival
    ("allreduce_ring", 4): """
        step 1  step 2  step 3  step 4  step 5  step 6
rank 0  +3←3    +2←3    +1←3    =0←3    =3←3    =2←3
rank 1  +0←0    +3←0    +2←0    =1←0    =0←0    =3←0
rank 2  +1←1    +0←1    +3←1    =2←1    =1←1    =0←1
rank 3  +2←2    +1←2    +0←2    =3←2    =2←2    =1←2""",
    # step k: virtual ranks below 2^k send to 2^k beyond themselves
    ("broadcast_binomial", 5): """
        step 1  step 2  step 3
rank 0  ·       ·       ·
rank 1  =0←0    ·       ·
rank 2  ·       =0←0    ·
rank 3  ·       =0←1    ·
rank 4  ·       ·       =0←0""",
    # step k: fetch what the rank 2^k further on has collected
    ("allgather_bruck", 5): """
        step 1  step 2  step 3
rank 0  =1←1    =2,3←2  =4←4
rank 1  =2←2    =3,4←3  =0←0
rank 2  =3←3    =4,0←4  =1←1
rank 3  =4←4    =0,1←0  =2←2
rank 4  =0←0    =1,2←1  =3←3""",
    # push, pull
    ("allreduce_parameter_server", 4): """
        step 1  step 2
rank 0  +0←1-3  ·
rank 1  ·       =0←0
rank 2  ·       =0←0
rank 3  ·       =0←0""",
    # pairs at distance 1, then 2
    ("allreduce_recursive_doubling", 4): """
        step 1  step 2
rank 0  +0←1    +0←2
rank 1  +0←0    +0←3
rank 2  +0←3    +0←0
rank 3  +0←2    +0←1""",
}


@pytest.mark.parametrize(("name", "n"), BY_HAND)
def test_diagrams_are_those_drawn_by_hand(name, n):
    lines = [line.rstrip() for line in str(cs.schedule(name, ranks=n)).splitlines()]
    assert lines[1:] == BY_HAND[name, n].strip("\n").splitlines()


def test_large_diagrams_say_what_they_leave_out():
    text = cs.schedule("allreduce_ring", ranks=40).diagram(most_ranks=3, most_steps=2)
    assert text.splitlines()[-1] == "(37 more endpoints and 76 more steps not shown)"
    assert len(text.splitlines()) == 1 + 1 + 3 + 1


def test_a_cell_groups_what_belongs_together():
    s = cs.schedule("allreduce_direct_two_shot", ranks=4)
    assert "+0←1-3 " in str(s)
    assert "+1←0,2,3 " in str(s)
    assert "=1←1 =2←2 =3←3" in str(s)
    assert "=0-3←4" in str(cs.schedule("allreduce_nvls", ranks=4))


if __name__ == "__main__":
    GOLDEN.write_text(diagrams())
