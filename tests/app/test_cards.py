"""What-if begins with questions: each is a change that can be made of the run."""

import pytest

from collsim.app.pages.whatif import run_edits
from collsim.app.pages.whatif.cards import MAX_CARDS, list_questions
from collsim.app.scenario.choice import Choice
from collsim.app.shell.controls import label_algorithm, list_algorithms

PLACES = {
    "two nodes": Choice(nbytes="1MiB"),
    "one node": Choice(nbytes="1MiB", nodes=1),
    "a switch": Choice(machine="switch", ranks=4, nbytes="1MiB"),
    "no GPUDirect": Choice(nbytes="1MiB", gdr=False, p2p=False),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_question_has_an_answer(place):
    choice = PLACES[place]
    found = dict(list_questions(choice, run_edits.list_cables(choice)))
    assert 3 < len(found) <= MAX_CARDS
    for name, edit in found.items():
        assert edit != run_edits.PLAIN, name
        run_edits.build_changed_topology(choice, edit)  # raises where it cannot be made


def test_questions_turn_what_is_on_off_and_what_is_off_on():
    assert dict(list_questions(PLACES["two nodes"], []))["rdma"].gdr == "off"
    assert dict(list_questions(PLACES["no GPUDirect"], []))["rdma"].gdr == "on"
    assert "rdma" not in dict(list_questions(PLACES["one node"], []))


def test_algorithms_are_written_as_people_write_them_well_known_ones_first():
    assert label_algorithm("allreduce_nvls_tree", "allreduce") == "NVLS tree"
    assert label_algorithm("allreduce_kary_tree", "allreduce") == "k-ary tree"
    assert label_algorithm("broadcast_knomial", "broadcast") == "k-nomial"
    offered = list_algorithms("allreduce")
    assert offered.index("allreduce_ring") < offered.index("allreduce_bcube")
    assert len(set(offered)) == len(offered)
