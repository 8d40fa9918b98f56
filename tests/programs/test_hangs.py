"""The catalogue of hangs: each program hangs as it says, and its fixed program is right on every number of ranks."""

import make_hangs
import pytest

from collsim.programs import list_hangs
from collsim.programs.hangs.stacks import format_stacks
from collsim.viz.program import draw_program_lanes

HANGS = list_hangs()
#: The ranks of the shortest cycle of waits; None where the ranks waited for have ended.
CYCLES = {
    "send_first": (0, 1, 2, 3),
    "receive_first": (0, 3, 2, 1),
    "large_messages": (0, 1, 2, 3),
    "other_tag": (0, 3, 2, 1),
    "one_receive_too_many": None,
    "barrier_between": (0, 1),
    "only_rank_0": (0, 1),
    "other_order": (0, 1),
    "uneven_batches": None,
    "exception_swallowed": None,
    "group_of_members": (0, 1),
    "crossed_groups": (0, 1, 2, 3),
}


def test_there_are_twelve_with_every_text_in_two_languages():
    assert list(HANGS) == list(CYCLES)
    for hang in HANGS.values():
        texts = [hang.title, hang.cause, hang.signs, hang.difference, hang.fix]
        assert all(english and chinese and english != chinese for english, chinese in texts), hang.name
    assert len({hang.source for hang in HANGS.values()}) == 12


@pytest.mark.parametrize("name", HANGS)
def test_each_hangs_and_its_repaired_program_does_not_on_two_to_eight_ranks(name, run_program):
    hang = HANGS[name]
    run = run_program(hang.source, 4, hang.collective, nbytes=hang.nbytes)
    assert (run.verdict, run.cycle) == ("hangs", CYCLES[name])
    wanted = "ends"
    if hang.collective is not None:
        wanted = "right"
    fixed = [run_program(hang.fixed_source, n, hang.collective, nbytes=hang.nbytes) for n in range(2, 9)]
    assert [str(other.verdict) for other in fixed] == [wanted] * 7
    assert all(not other.leftover for other in fixed)


def test_large_messages_end_where_they_are_small(run_program):
    hang = HANGS["large_messages"]
    small = run_program(hang.source, 4, "allreduce", nbytes="4KiB")
    assert small.verdict == "right"
    assert "needs messages" in str(small.reason)


def test_stacks_name_the_line_of_every_rank_that_waits(run_program):
    run = run_program(HANGS["only_rank_0"].source)
    assert format_stacks(run, "train.py").splitlines() == [
        "# rank 0",
        "Current thread (most recent call first):",
        '  File "train.py", line 13 in train',
        "",
        "# rank 1, 2, 3",
        "Current thread (most recent call first):",
        '  File "train.py", line 10 in train',
    ]
    assert "in <module>" in format_stacks(run_program(HANGS["other_tag"].source))


def test_a_hang_of_the_page_is_what_its_program_does():
    number, hang = 1, next(iter(HANGS.values()))
    for language, path in make_hangs.PAGES.items():
        assert make_hangs.section(number, hang, language) in path.read_text(encoding="utf-8"), language


@pytest.mark.slow
@pytest.mark.parametrize("language", make_hangs.PAGES)
def test_the_page_of_hangs_is_what_the_programs_do(language):
    assert make_hangs.PAGES[language].read_text(encoding="utf-8") == make_hangs.page(language), (
        "run: python docs/make_hangs.py"
    )


@pytest.mark.parametrize("name", HANGS)
def test_the_picture_shows_every_rank_that_waits_as_waiting_for_ever(name, run_program):
    hang = HANGS[name]
    run = run_program(hang.source, 4, hang.collective, nbytes=hang.nbytes)
    assert draw_program_lanes(run).count("url(#plf640)") == len(run.waits)


def test_groups_in_a_circle_are_named_with_their_members():
    run = list_hangs()["crossed_groups"].run(4)
    assert "Rank 0 waits in all_reduce (line 8) of the group of ranks 0, 1 for rank 1" in run.explanation()
    assert "in one order" in run.explanation()
    assert "rank 0, 1 这个组" in run.explanation("zh")
