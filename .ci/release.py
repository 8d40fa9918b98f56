"""Build a release from the last commit, check it, and try it as a stranger would: nothing is uploaded.

    python .ci/release.py --repository https://HOST/OWNER/collsim [--python 3.11 --python 3.12]

1. Export the commit; write the address of the repository into `[project.urls]`, `CITATION.cff` and the README of the
   package. Its links and pictures become absolute, because an index shows it outside the repository. This is the only
   place where the address is written; without an address there is no release.
2. Build sdist and wheel twice, in different folders: both builds must give the same bytes.
3. `twine check --strict`.
4. For every interpreter, with the oldest and the newest dependencies: install the wheel into an empty environment
   outside the repository, run the README's Python and commands, and start the app. The core alone must work, or name
   the extra that a command needs.

The files are in `dist/` afterwards. Needs build, uv, twine and a package index.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
INTERPRETERS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = ("lowest-direct", "highest")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A link to a file of the repository, with the mark of a picture in front of it.
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")
#: The address of a repository, without a slash at its end.
ADDRESS = re.compile(r"https://[\w.-]+\.[\w-]+(?:/[\w.~-]+)+")
#: How variables begin that could lead back to the repository.
HIDDEN = ("PYTHON", "STREAMLIT_", "VIRTUAL_ENV")
#: Seconds after which a program of the README is taken to hang.
LONGEST = 600
#: Seconds after which the app is taken not to start.
LONGEST_START = 120
#: What an error says of a missing extra.
EXTRA = re.compile(r"pip install ['\"]collsim\[\w+\]")


def export_commit(folder: Path) -> int:
    """Write the files of the last commit into a folder, and return the time of the commit (s since 1970)."""
    archive = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "--output", archive, "HEAD"], cwd=ROOT, check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return int(stamp)


def add_addresses(folder: Path, repository: str) -> None:
    """Write the repository's address into an exported `pyproject.toml` and `README.md`.

    Args:
        folder: Of the exported files.
        repository: `https://HOST/OWNER/NAME`.
    """
    project = folder / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    if text.count("[project.scripts]") != 1:
        sys.exit("pyproject.toml has no [project.scripts], in front of which the addresses belong")
    urls = f"""[project.urls]
Repository = "{repository}"
Documentation = "{repository}/blob/main/docs/index.md"
Changelog = "{repository}/blob/main/CHANGELOG.md"
Issues = "{repository}/issues"

[project.scripts]"""
    project.write_text(text.replace("[project.scripts]", urls, 1), encoding="utf-8")
    citation = folder / "CITATION.cff"
    citation.write_text(f"{citation.read_text(encoding='utf-8')}repository-code: {repository}\n", encoding="utf-8")
    readme = folder / "README.md"
    page = readme.read_text(encoding="utf-8")
    if page.count("git+URL") != 1:
        sys.exit("README.md has no git+URL, in which the address belongs")
    page = page.replace("git+URL", f"git+{repository}")
    readme.write_text(make_links_absolute(page, repository, read_version(folder)), encoding="utf-8")


def parse_address(text: str) -> str:
    """The address of the repository, as an option of the command line gives it.

    Args:
        text: The option's value.

    Returns:
        The address without a slash at its end.

    Raises:
        argparse.ArgumentTypeError: It is empty, no https address of a repository, or an example.
    """
    address = text.rstrip("/")
    if not ADDRESS.fullmatch(address):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address of a repository; write https://HOST/OWNER/collsim with its host and owner"
        )
    return address


def read_version(folder: Path) -> str:
    """The version in `collsim/package_data.py`."""
    match = re.search(
        r'^__version__ = "(.+)"', (folder / "collsim" / "package_data.py").read_text("utf-8"), re.MULTILINE
    )
    if match is None:
        sys.exit("collsim/package_data.py has no __version__")
    return match[1]


def make_links_absolute(page: str, repository: str, version: str) -> str:
    """A page whose links to files of the repository work outside of it, at the tag of a version.

    Args:
        page: Markdown.
        repository: `https://HOST/OWNER/NAME`.
        version: Its tag is `v` and the version.
    """

    def replace(link: re.Match[str]) -> str:
        view = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({repository}/{view}/v{version}/{link[3]})"

    parts = re.split(r"(^```.*?^```$)", page, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def build(folder: Path, out: Path, stamp: int) -> dict[str, str]:
    """Build sdist and wheel, and return the SHA-256 of each file by its name."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, folder]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(stamp)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def build_twice(repository: str, work: Path) -> None:
    """Build in two folders, compare, and leave the files in `dist/`."""
    digests = []
    for name in ("first", "second/with/another/path"):
        folder = work / name
        folder.mkdir(parents=True)
        stamp = export_commit(folder / "collsim")
        add_addresses(folder / "collsim", repository)
        digests.append(build(folder / "collsim", folder / "dist", stamp))
    if digests[0] != digests[1]:
        sys.exit(f"two builds differ:\n{digests[0]}\n{digests[1]}")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(work / "first" / "dist", DIST)
    for name, digest in digests[0].items():
        print(f"built twice, the same bytes: {name} {digest}")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.iterdir())], check=True)


def find_interpreters(versions: list[str]) -> Iterator[tuple[str, str]]:
    """Version and path of each interpreter that this computer has; nothing is downloaded."""
    for version in versions:
        command = [sys.executable, "-m", "uv", "python", "find", "--no-python-downloads", "--system", version]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir())
        if done.returncode:
            print(f"Python {version}: NOT TRIED, there is no interpreter here")
        else:
            yield version, done.stdout.strip()


def install(interpreter: str, wheel: Path, extra: str, resolution: str, place: Path) -> Path:
    """Make an environment with the wheel, and return the folder of its programs."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", interpreter, place], check=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    command = [*uv, "pip", "install", "--quiet", "--python", programs / "python", "--resolution", resolution]
    subprocess.run([*command, "--only-binary", ":all:", f"{wheel}{extra}"], check=True)
    return programs


def make_environment() -> dict[str, str]:
    """The variables of a stranger's shell: none leads back to the repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    return environment | {"PYTHONUTF8": "1", "MPLBACKEND": "agg"}


def run(programs: Path, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment to its end, within `LONGEST` seconds."""
    return subprocess.run(
        [str(programs / words[0]), *words[1:]],
        cwd=folder,
        env=make_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
    )


def run_readme(programs: Path, folder: Path, is_core: bool) -> str:
    """Run the README's Python and commands, and say how it went; of the core, what lacks an extra is no failure."""
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = [line for kind, text in blocks if not kind for line in text.splitlines() if line.startswith("collsim ")]
    tasks = [shlex.split(line, comments=True) for line in lines]
    if not is_core:
        program = folder / "readme.py"
        program.write_text("\n".join(text for kind, text in blocks if kind == "python"), encoding="utf-8")
        tasks.insert(0, ["python", program.name])
    needing = []
    for words in tasks:
        done = run(programs, words, folder)
        if done.returncode and not (is_core and EXTRA.search(done.stderr)):
            sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        if done.returncode:
            needing.append(words[1])
    if len(tasks) == len(needing):
        sys.exit("the README has no program that works: were its commands found?")
    report = f"{len(tasks) - len(needing)} of {len(tasks)} programs of the README work"
    if needing:
        report += f"; these name their extra: {', '.join(needing)}"
    return report


@contextmanager
def start_app(programs: Path, folder: Path) -> Iterator[str]:
    """Start the app on a free port, yield its address when it answers, and end it. Exits where it does not answer.

    Args:
        programs: The folder of the environment's programs.
        folder: Where the app is started.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [programs / "collsim", "app", "--headless", f"--port={port}"]
    server = subprocess.Popen(
        command, cwd=folder, env=make_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + LONGEST_START
    try:
        while not has_answered(address):
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("the app does not answer")
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def has_answered(address: str) -> bool:
    """Whether the app answers at an address."""
    try:
        return bool(urlopen(f"{address}/_stcore/health", timeout=1).status == 200)
    except OSError:
        return False


def try_wheel(versions: list[str], work: Path) -> None:
    """Install the wheel into clean environments and use it there. Exits where no interpreter was found."""
    (wheel,) = DIST.glob("*.whl")
    folder = work / "stranger"
    shutil.copytree(ROOT / "examples", folder / "examples")
    interpreters = list(find_interpreters(versions))
    if not interpreters:
        sys.exit("the wheel was not tried: there is no interpreter of these versions here")
    for version, interpreter in interpreters:
        for resolution in RESOLUTIONS:
            core = install(interpreter, wheel, "", resolution, work / "core")
            print(f"Python {version}, {resolution}, core: {run_readme(core, folder, True)}", flush=True)
            programs = install(interpreter, wheel, "[app]", resolution, work / "app")
            report = run_readme(programs, folder, False)
            start = time.monotonic()
            with start_app(programs, folder):
                seconds = time.monotonic() - start
            print(f"Python {version}, {resolution}, app: {report}; the app answers after {seconds:.1f} s", flush=True)


def main() -> None:
    """Build, check and try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repository",
        type=parse_address,
        required=True,
        help="address of the repository, as https://HOST/OWNER/collsim",
    )
    parser.add_argument("--python", action="append", default=None, help="a version to try; may be given again")
    options = parser.parse_args()
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout.strip():
        sys.exit("commit first: a release is built from the last commit")
    with tempfile.TemporaryDirectory() as name:
        build_twice(options.repository, Path(name))
        try_wheel(options.python or list(INTERPRETERS), Path(name))


if __name__ == "__main__":
    main()
