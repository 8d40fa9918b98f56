"""Files of other tools that nobody wrote in good faith: a sentence, at once."""

import time

import pytest
from goal_reader import read_goal

import collsim as cs
from collsim.io import load

TREE = "h:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->{}\nh:1:1 [0] NCCL INFO Trees [0] -1/-1/-1->1->{}\n"


def test_a_parent_that_is_no_rank_makes_no_tree(tmp_path):
    path = tmp_path / "x.log"
    path.write_text(TREE.format(-1, 0))
    assert load(path, "nccl-log").trees == {0: (-1, 0)}
    for parents in ((-1, -13), (-13, -1), (-1, 5), (1, 0)):
        path.write_text(TREE.format(*parents))
        with pytest.raises(cs.FormatError, match="is not a tree"):
            load(path, "nccl-log")


def test_brackets_of_a_log_that_do_not_close_are_read_once(tmp_path):
    path = tmp_path / "x.log"
    path.write_text(TREE.format(-1, 0) + f"h:1:1 [0] NCCL INFO Channel 00/0 : 0[{'[' * 500_000} -> 1[1] via P2P\n")
    begin = time.process_time()
    assert load(path, "nccl-log").trees == {0: (-1, 0)}
    assert time.process_time() - begin < 5


def test_comments_of_goal_that_do_not_end_are_read_once(tmp_path):
    path = tmp_path / "x.goal"
    path.write_text("num_ranks 1\nrank 0 {\nl1: calc 5 /* five\n ns */\n/**/l2: calc 6\n}\n")
    assert [(task.label, task.amount) for task in read_goal(path)] == [("l1", 5), ("l2", 6)]
    for text in ("/*" * 400_000, "num_ranks 1\n" + "/* " * 400_000):
        path.write_text(text)
        with pytest.raises(cs.FormatError, match="expected"):
            read_goal(path)
    path.write_text("/**/" * 600_000)
    with pytest.raises(cs.FormatError, match="more than 500,000 comments"):
        read_goal(path)


@pytest.mark.parametrize("begin", ['<algo name="', "<!--", "<?x "])
def test_a_file_of_one_endless_token_is_not_read_again_and_again(tmp_path, begin):
    path = tmp_path / "x.xml"
    path.write_text(begin + "x" * (30 << 20))
    with pytest.raises(cs.FormatError, match="more than 4 MiB without an element"):
        load(path, "msccl")


def test_slots_that_nobody_uses_are_memory_too(tmp_path):
    path = tmp_path / "x.json"
    cs.save(cs.schedule("allreduce_ring", ranks=2), path)
    assert load(path).slots == 2
    path.write_text(path.read_text().replace('"slots": 2', '"slots": 161329224'))
    with pytest.raises(cs.CollsimError, match=r"would take 4\.81 GiB of memory .* 512 MiB is the most here"):
        load(path)
