"""A rank program in a notebook: `%%program` runs its cell and shows the verdict, the lanes and the player."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell

import collsim as cs
from collsim.display.palette import TOKENS
from collsim.programs import list_hangs
from collsim.sandbox import Isolation, detect_isolation
from collsim.viz.program.notebook import format_run_html
from collsim.viz.program.program_moments import list_moments

pytestmark = pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")
HANG, FIXED = (getattr(list_hangs()["send_first"], name) for name in ("source", "fixed_source"))


@pytest.fixture
def shell():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "collsim")
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_that_hangs_shows_who_waits_and_is_kept_under_its_name(shell):
    shown = shell.run_cell_magic("program", "run --ranks 3 --collective allreduce --nbytes 1MiB", HANG)
    assert shell.user_ns["run"].cycle == (0, 1, 2)
    html = shown._repr_html_()
    assert "Hangs" in html
    assert html.count('class="arrow"') == 3
    assert "Rank 0 waits in send (line 10) for rank 1" in html
    assert "<iframe" not in html
    assert repr(shown).startswith("hangs: Rank 0 waits")


def test_a_rank_that_has_ended_has_a_dashed_square_at_the_end_of_the_arrows(shell):
    source = "import torch.distributed as dist\nif dist.get_rank() != 1:\n    dist.barrier()\n"
    html = shell.run_cell_magic("program", "run --ranks 3", source)._repr_html_()
    assert html.count('class="arrow"') == 2
    english, chinese = list_moments(shell.user_ns["run"])[-1][1]
    assert "rank 1 has ended; nothing moves any more" in english
    assert "rank 1 已经结束；再没有数据移动" in chinese
    assert re.findall(r'<rect [^>]*class="ended"[^>]*/><text[^>]*>(\d)<', html) == ["1"]
    assert (
        'class="ended"' not in shell.run_cell_magic("program", "--ranks 3 --collective allreduce", HANG)._repr_html_()
    )


def test_a_right_program_is_drawn_and_played_in_chinese(shell):
    html = shell.run_cell_magic("program", "--collective allreduce --late 2=300us --lang zh", FIXED)._repr_html_()
    assert "正确" in html
    assert 'data-messages="12"' in html
    assert "<iframe" in html
    assert shell.user_ns.get("run") is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--ranks many", "invalid int"),
        ("--late 2", "rank=time"),
        ("--late x=1ms", "rank=time"),
        ("--size 4", "unrecognized"),
    ],
)
def test_wrong_options_are_named_and_end_nothing(shell, line, reason):
    with pytest.raises(cs.CollsimError, match=reason):
        shell.run_cell_magic("program", line, FIXED)


def test_what_ranks_print_is_shown_as_text():
    run = cs.program("def run(rank, size):\n    print('<b>bold</b>')", 2)
    assert "rank 1: &lt;b&gt;bold&lt;/b&gt;" in run._repr_html_()


def test_the_colours_are_those_of_the_app():
    assert f"--cs-sumfill:{TOKENS['sumfill'][0]}" in format_run_html(list_hangs()["send_first"].run())
