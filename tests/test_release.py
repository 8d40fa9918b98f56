"""The release script: links that work on a package index, addresses in the metadata, and builds that are the same bytes."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://example.org/owner/collsim"


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release, stopwatch = load_script("release"), load_script("stopwatch")


def test_links_to_files_become_absolute_and_others_stay():
    page = (
        "![film](docs/ring.gif) [page](docs/a.md#b) [top](#top) [web](https://x.org/y)\n```\n[code](docs/a.md)\n```\n"
    )
    assert release.make_links_absolute(page, REPOSITORY, "1.2.3") == (
        f"![film]({REPOSITORY}/raw/v1.2.3/docs/ring.gif) [page]({REPOSITORY}/blob/v1.2.3/docs/a.md#b) [top](#top) "
        "[web](https://x.org/y)\n```\n[code](docs/a.md)\n```\n"
    )


def test_every_picture_and_link_of_the_readme_becomes_absolute():
    page = release.make_links_absolute((ROOT / "README.md").read_text("utf-8"), REPOSITORY, "1.0.0")
    targets = re.findall(r"\]\(([^)]+)\)", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL))
    assert len(targets) > 30
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert f"]({REPOSITORY}/raw/v1.0.0/docs/ring.gif)" in page


@pytest.mark.parametrize(
    "text", ["", "collsim", "http://example.org/owner/collsim", "https://HOST/OWNER/collsim", "https://example.org"]
)
def test_there_is_no_release_without_the_address_of_a_repository(text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["release.py", "--repository", text])
    with pytest.raises(SystemExit) as ended:
        release.main()
    assert ended.value.code == 2
    assert f"{text!r} is no address of a repository" in capsys.readouterr().err


def test_the_address_is_written_into_metadata_citation_and_readme_of_the_release_alone(tmp_path):
    names = ("pyproject.toml", "README.md", "CITATION.cff", "collsim/package_data.py")
    (tmp_path / "collsim").mkdir()
    for name in names:
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    assert release.parse_address(f"{REPOSITORY}/") == REPOSITORY
    release.add_addresses(tmp_path, REPOSITORY)
    written = {name: (tmp_path / name).read_text("utf-8").count(REPOSITORY) for name in names}
    assert written["pyproject.toml"] == 4
    assert written["CITATION.cff"] == 1
    assert written["README.md"] > 30
    assert f"git+{REPOSITORY}'" in (tmp_path / "README.md").read_text("utf-8")
    assert "[project.urls]" not in (ROOT / "pyproject.toml").read_text("utf-8")


def test_a_wheel_that_nobody_tried_is_no_release(tmp_path, monkeypatch):
    dist, readme = tmp_path / "dist", tmp_path / "README.md"
    dist.mkdir()
    (dist / "collsim-1.0.0-py3-none-any.whl").touch()
    (tmp_path / "examples").mkdir()
    readme.write_text("# no commands\n", encoding="utf-8")
    monkeypatch.setattr(release, "DIST", dist)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="no interpreter"):
        release.try_wheel(["3.99"], tmp_path / "work")
    with pytest.raises(SystemExit, match="no program that works"):
        release.run_readme(tmp_path, tmp_path, is_core=True)


def test_programs_of_a_stranger_see_nothing_of_the_repository_and_cannot_wait_for_input(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = "import os, sys; print('PYTHONPATH' in os.environ, sys.stdin.read() == '')"
    done = release.run(Path(sys.executable).parent, ["python", "-c", code], tmp_path)
    assert done.stdout.split() == ["False", "True"], done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two copies of the tracked files, at paths of different length, with other times and permissions, and an address."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = [
        tmp_path_factory.mktemp("a") / "collsim",
        tmp_path_factory.mktemp("another") / "with" / "more" / "collsim",
    ]
    for number, folder in enumerate(folders):
        for name in sorted(names, reverse=bool(number)):
            if not (ROOT / name).is_file():
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
            target.chmod((0o644, 0o600)[number])
            os.utime(target, (1e9 * (number + 1), 1e9 * (number + 1)))
        release.add_addresses(folder, REPOSITORY)
    return folders


@pytest.mark.slow
def test_two_builds_give_the_same_bytes_and_the_metadata_has_the_addresses(sources, tmp_path):
    first, second = (release.build(folder, tmp_path / str(k), 1_790_000_000) for k, folder in enumerate(sources))
    assert first == second
    assert len(first) == 2
    (wheel,) = (tmp_path / "0").glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        metadata = files.read(name).decode()
    assert f"Project-URL: Repository, {REPOSITORY}\n" in metadata
    assert f"]({REPOSITORY}/raw/v" in metadata
    assert "](docs/" not in metadata
    assert release.build(sources[0], tmp_path / "later", 1_790_000_100) != first, (
        "the time of the commit is in the files"
    )


def test_newcomers_type_what_the_readme_says_and_the_page_has_their_reading_time():
    """Seconds are of one computer; `python .ci/stopwatch.py` measures them."""
    assert stopwatch.README.count(stopwatch.INSTALL) == 1
    minutes = [
        round(stopwatch.count_words_until(last) / stopwatch.WORDS_A_MINUTE) for _, last in stopwatch.PATHS.values()
    ]
    for page in ("install.md", "install.zh.md"):
        text = (ROOT / "docs" / "howto" / page).read_text("utf-8")
        stated = [int(number) for number in re.findall(r"\| (\d+) min \|", text)]
        assert stated == pytest.approx(minutes, abs=1)
