"""Measure the size of an installation for the table of docs/howto/install.md: `python docs/make_install.py`.

Each extra is installed with the newest packages into an empty folder, without compiled bytecode. Needs uv and a package
index. A test compares the figures with the packages that are installed where it runs.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = (DOCS / "howto" / "install.md", DOCS / "howto" / "install.zh.md")
#: Extras that are not measured: for those who change collsim, and torch, whose size depends on its build.
UNMEASURED = ("dev", "docs", "torch")
#: A row of the table: name of the extra in code, its text, then packages and MB.
ROW = re.compile(r"^\| `(collsim(?:\[(\w+)\])?)` \| (.*) \| [^|]* \| [^|]* \|$", re.MULTILINE)


def list_extras() -> list[str]:
    """Names of the extras that are measured, `""` for the core, in the order of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return ["", *(name for name in project["optional-dependencies"] if name not in UNMEASURED)]


def measure_install(wheel: Path, extra: str) -> tuple[int, float]:
    """Install a wheel with an extra into an empty folder.

    Args:
        wheel: Of collsim.
        extra: Its name, or `""`.

    Returns:
        Number of packages, collsim among them, and their size in MB (10^6 bytes).
    """
    requirement = str(wheel)
    if extra:
        requirement += f"[{extra}]"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--target",
            folder,
            "--python",
            sys.executable,
        ]
        subprocess.run([*command, requirement], check=True)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        packages = len(list(Path(folder).glob("*.dist-info")))
        return packages, sum(path.stat().st_size for path in files) / 1e6


def fill_table(page: str, figures: dict[str, tuple[int, float]]) -> str:
    """A page with the measured figures in the rows of its table.

    Args:
        page: Markdown.
        figures: Packages and MB of each extra.
    """

    def fill(row: re.Match[str]) -> str:
        packages, size = figures[row[2] or ""]
        return f"| `{row[1]}` | {row[3]} | {packages} | {size:.0f} |"

    return ROW.sub(fill, page)


def main() -> None:
    """Measure, and write both pages."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(ROOT)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        figures = {extra: measure_install(wheel, extra) for extra in list_extras()}
    for page in PAGES:
        page.write_text(fill_table(page.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
