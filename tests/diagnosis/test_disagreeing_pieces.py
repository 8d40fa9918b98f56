"""Evidence that cannot be of one job gets no verdict, and wrong values get theirs, however fast they came."""

import pytest
from stated_causes import A100, BOX, H100, PAIR, VIA_GDR, VIA_P2P, VIA_SHM, log, table

import collsim as cs

TWO = ("n1", "n2")
NAMES = [f"GPU{number}" for number in range(8)]
SLOW_MATRIX = "\n".join(
    [
        "\t" + "\t".join(NAMES),
        *("\t".join([row, *(" X " if row == name else "NV2" for name in NAMES)]) for row in NAMES),
    ]
)
HEALTHY = table(BOX, A100)
#: Pieces, and the keys of what has to be asked; none where the pieces state different numbers of ranks.
DISAGREEING = {
    "a table of faster GPUs than the matrix has": (
        {"topo.txt": SLOW_MATRIX, "t.txt": table(cs.machine("dgx-h100"), H100)},
        ["other_machine"],
    ),
    "five times as fast as the machine": ({"t.txt": table(BOX, A100, slower=0.2)}, ["other_machine"]),
    "host memory in the log, NVLink in the times": (
        {"log": log("NCCL_P2P_DISABLE set by environment to 1", VIA_SHM), "t.txt": HEALTHY},
        ["other_path"],
    ),
    "sockets in the log, RDMA in the times": (
        {"log": log("Using network Socket", nodes=2, hosts=TWO, ranks=16), "t.txt": table(PAIR, A100, TWO)},
        ["other_path"],
    ),
    "two nodes in the log, one in the table": (
        {"log": log(VIA_P2P, VIA_GDR, nodes=2, hosts=TWO, ranks=16), "t.txt": HEALTHY},
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISAGREEING)
def test_pieces_of_different_jobs_are_not_called_healthy(name):
    pieces, questions = DISAGREEING[name]
    diagnosis = cs.diagnose(pieces)
    assert diagnosis.verdict == "undecided"
    assert [question.key for question in diagnosis.questions] == questions
    assert questions or diagnosis.contradictions
    for question in diagnosis.questions:
        assert question.facts
        assert question.facts[-1].quote() in diagnosis.report("zh")


def test_a_table_with_wrong_values_is_not_healthy():
    assert cs.diagnose({"t.txt": f"{HEALTHY}\n# Out of bounds values : 0 OK"}).verdict == "healthy"
    diagnosis = cs.diagnose({"t.txt": f"{HEALTHY}\n# Out of bounds values : 3 FAILED"})
    assert (diagnosis.verdict, diagnosis.causes[0].key) == ("cause", "wrong_results")
    assert diagnosis.causes[0].evidence[0].value == 3


@pytest.mark.parametrize("lines", [(VIA_P2P,), (VIA_SHM,)])
def test_a_job_as_fast_as_its_path_is_healthy_or_has_the_cause_of_the_path(lines):
    slower = 1 if lines == (VIA_P2P,) else 10
    diagnosis = cs.diagnose({"log": log(*lines), "t.txt": table(BOX, A100, slower=slower)})
    assert not diagnosis.questions
    assert diagnosis.verdict == ("healthy" if slower == 1 else "cause")
