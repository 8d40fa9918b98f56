"""Studied cases: each ends in the cause or question that its thread ended in."""

import pytest

import collsim as cs
from collsim.diagnosis import list_studied_cases
from collsim.locale import LANGUAGES

#: Eight RTX 4090 get what host memory gives; the driver lets no GeForce card do more, which is named and no fault.
HEALTHY, LIMIT, QUESTION = "tree_above_cards", "p2p_refused", "slow_peers"


@pytest.mark.parametrize("key", list_studied_cases())
def test_a_case_ends_in_what_its_thread_found(key):
    diagnosis = cs.diagnose(list_studied_cases()[key].texts)
    if key == HEALTHY:
        assert (diagnosis.verdict, diagnosis.causes) == ("healthy", ())
    elif key == LIMIT:
        assert diagnosis.verdict == "healthy"
        assert [(cause.key, cause.is_stated, cause.is_fault) for cause in diagnosis.causes] == [(key, True, False)]
    elif key == QUESTION:
        assert [question.key for question in diagnosis.questions] == [key]
    else:
        assert [cause.key for cause in diagnosis.causes] == [key]
        assert diagnosis.causes[0].is_stated
        assert diagnosis.causes[0].is_fault


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_case_has_a_title_a_story_and_a_source(language):
    for case in list_studied_cases().values():
        assert case.title(language) != case.story(language)
        assert case.source.startswith("https://github.com/")


def test_a_peer_matrix_is_no_topology_and_one_gpu_a_node_is_no_container():
    peers = "\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n"
    assert cs.diagnose({"p2p.txt": peers}).pieces[0].tools == ()
    lines = [
        f"n{k}:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank {k} nranks 4 cudaDev 0 nvmlDev 0 busId 17000\n"
        f"n{k}:1:2 [0] NCCL INFO comm 0x1 rank {k} nRanks 4 nNodes 4 localRanks 1 localRank 0"
        for k in range(4)
    ]
    assert cs.diagnose({"nccl.log": "\n".join(lines)}).causes == ()
