"""A common job of the command line starts nothing heavy: libraries that take longer to load than the job takes."""

import subprocess
import sys

#: Not needed to time a run: by `import collsim`, and by the commands below.
HEAVY = (
    "{'pandas', 'networkx', 'matplotlib', 'numba', 'scipy', 'pyarrow', 'streamlit', 'pydantic', 'numpy.testing', 'PIL',"
    " 'yaml', 'importlib.metadata', 'multiprocessing', 'collsim.train', 'collsim.teach', 'collsim.viz',"
    " 'collsim.io', 'collsim.lab', 'collsim.sandbox', 'collsim.synthesis', 'collsim.nccl.measured',"
    " 'collsim.algorithms.alltoall_bruck', 'collsim.cli.training', 'collsim.cli.teaching'}"
)
#: Nor those by `import collsim` alone.
FOR_COMMANDS = "{'typer', 'rich', 'collsim.nccl', 'collsim.cli', 'collsim.algorithms.allreduce_ring'}"


def loaded(code, heavy=HEAVY):
    """Which of the heavy libraries a fresh Python has after some code."""
    ask = f"import sys\n{code}\nprint(sorted(({heavy}) & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120)
    return done.stderr.strip().splitlines()[-1]


def command(*words):
    """Code that runs the command line."""
    return f"sys.argv = {['collsim', *words]}\nfrom collsim.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"


def test_the_package_loads_no_heavy_library():
    assert loaded("import collsim", f"{HEAVY} | {FOR_COMMANDS}") == "[]"


def test_a_common_run_loads_no_heavy_library():
    words = ["run", "allreduce_ring", "--machine", "dgx-a100", "--nodes", "2", "--nbytes", "256MiB"]
    assert loaded(command(*words)) == "[]"


def test_completion_of_a_command_loads_no_heavy_library_and_no_command():
    ask = (
        "import os\nos.environ |= dict(_COLLSIM_COMPLETE='complete_bash', COMP_WORDS='collsim conv', COMP_CWORD='1')\n"
    )
    assert loaded(ask + command(), f"{HEAVY} | {{'collsim.cli.runs'}}") == "[]"


def test_it_would_be_seen():
    assert loaded("import collsim, yaml") == "['yaml']"
    assert (
        loaded("import collsim as cs; cs.algorithms()") == "['collsim.algorithms.alltoall_bruck', 'importlib.metadata']"
    )
