"""Do the oldest versions that pyproject.toml allows work? Install them beside the others, run a part of the tests.

    python .ci/lowest.py [OPTIONS OF PYTEST]

Direct dependencies at their lower bounds, theirs at the newest that fit (`uv --resolution lowest-direct`), as in an old
installation that pip updates in part. Needs uv and a package registry; without the registry it says that nothing was
checked, and ends well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "lowest"
EXTRAS = ("app", "dask", "exchange")
#: The tests' own tools, at any version.
TOOLS = ("pytest>=8", "hypothesis>=6.100", "packaging")
#: Every library is used by one of these: typer, matplotlib, pillow, pandas, pyyaml, numba, protobuf, streamlit, ...
TESTS = (
    "tests/test_public_face.py",
    "tests/test_cli.py",
    "tests/viz/test_draw.py",
    "tests/viz/test_plots.py",
    "tests/viz/test_files.py",
    "tests/io/test_other_tools.py",
    "tests/sweep/test_plan.py",
    "tests/simulate/test_event_answers.py",
    "tests/topology/files/test_yaml.py",
    "tests/app/test_class_sessions.py",
    "tests/app/server",
)
#: What uv says where it reaches nobody; anything else that goes wrong is a fault of ours.
UNREACHED = ("failed to fetch", "error sending request", "dns error", "could not connect", "timed out", "network")


def main() -> int:
    """The exit code: of the tests, or 1 where the bounds cannot be met together."""
    listed = PLACE.with_suffix(".txt")
    listed.parent.mkdir(exist_ok=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = ["--resolution", "lowest-direct", "--python-version", version, *(f"--extra={name}" for name in EXTRAS)]
    python = PLACE / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    for words in (
        ("pip", "compile", "--quiet", *wanted, "--output-file", str(listed), "pyproject.toml"),
        ("venv", "--quiet", "--clear", "--python", sys.executable, str(PLACE)),
        ("pip", "install", "--quiet", "--python", str(python), "--only-binary", ":all:", "-r", str(listed), *TOOLS),
    ):
        done = subprocess.run([sys.executable, "-m", "uv", *words], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return _give_up(done.stderr)
    print("oldest versions:", ", ".join(_list_direct(listed.read_text(encoding="utf-8"))), flush=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:], *TESTS]
    return subprocess.run(command, cwd=ROOT, env=env).returncode


def _give_up(reason: str) -> int:
    print(reason, file=sys.stderr)
    if any(word in reason.lower() for word in UNREACHED):
        print("lowest versions: NOT CHECKED, the package registry cannot be reached", file=sys.stderr)
        return 0
    return 1


def _list_direct(listed: str) -> list[str]:
    """`name==version` of what pyproject.toml itself names; uv writes under each who wants it."""
    lines = listed.splitlines()
    return [
        line
        for k, line in enumerate(lines)
        if "==" in line and any("collsim" in who for who in lines[k + 1 : k + 2 + _list_reasons(lines[k + 1 :])])
    ]


def _list_reasons(lines: list[str]) -> int:
    """How many of these are reasons for the line before."""
    return next((k for k, line in enumerate(lines) if not line.startswith("    #")), len(lines))


if __name__ == "__main__":
    sys.exit(main())
