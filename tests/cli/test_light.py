"""A common job of the command line starts nothing heavy: libraries that take longer to load than the job takes."""

import subprocess
import sys

HEAVY = "{'pandas', 'networkx', 'matplotlib', 'numba', 'scipy', 'pyarrow', 'streamlit'}"


def loaded(code):
    """Which of the heavy libraries a fresh Python has after some code."""
    ask = f"import sys\n{code}\nprint(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120)
    return done.stderr.strip().splitlines()[-1]


def test_the_package_loads_no_heavy_library():
    assert loaded("import collsim") == "[]"


def test_a_common_run_loads_no_heavy_library():
    words = ["collsim", "run", "allreduce_ring", "--machine", "dgx-a100", "--nodes", "2", "--nbytes", "256MiB"]
    run = f"sys.argv = {words}\nfrom collsim.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    assert loaded(run) == "[]"


def test_it_would_be_seen():
    assert loaded("import collsim, networkx") == "['networkx']"
