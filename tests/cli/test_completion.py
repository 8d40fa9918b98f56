"""The shell completes commands, options, and the names of algorithms and machines."""

import subprocess

import pytest

from collsim.cli import main


@pytest.fixture
def printed(monkeypatch, capsys):
    """What the command prints when a shell asks it something by these variables."""

    def ask(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    return ask


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("collsim compa", "compare"),
        ("collsim run allreduce_dou", "allreduce_double_binary_tree"),
        ("collsim run allreduce_ring --machine dgx-h1", "dgx-h100"),
        ("collsim list mach", "machines"),
        ("collsim run allreduce_ring --over", "--oversubscription"),
    ],
)
def test_the_shell_is_offered_what_fits(words, offered, printed):
    last = str(len(words.split()) - 1)
    found = printed(_COLLSIM_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=last).split()
    assert offered in found
    assert all(one.startswith(words.split()[-1]) for one in found)


def test_bash_takes_the_script_that_is_printed(printed):
    script = printed(_COLLSIM_COMPLETE="source_bash")
    assert "_COLLSIM_COMPLETE=complete_bash" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
