"""What a stranger installs: sdist and wheel, built and used outside the repository."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

import collsim as cs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The sdist, and the wheel that was built from it; nothing is fetched."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(built, tmp_path_factory):
    """The folder of a new environment's programs, with the wheel in it; everything else comes from this one."""
    place = tmp_path_factory.mktemp("stranger") / "venv"
    venv.create(place, symlinks=os.name != "nt")
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(built[1])], check=True, env=outside())
    packages = next(place.rglob("site-packages"))
    # kernels as they were compiled here; a digest of their sources says whether they still fit
    for path in (*ROOT.glob("collsim/**/*.nbi"), *ROOT.glob("collsim/**/*.nbc")):
        target = packages / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
    # a path in a .pth file is searched, but .pth files in it are not read: no editable install comes along
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def outside():
    """This environment without a word about the repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STREAMLIT_"))}


def ran(programs, folder, *words):
    done = subprocess.run([programs / words[0], *words[1:]], capture_output=True, text=True, cwd=folder, env=outside())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_version_stands_in_one_place(built, installed, tmp_path):
    assert ran(installed, tmp_path, "collsim", "--version").strip() == f"collsim {cs.__version__}"
    assert built[1].name.startswith(f"collsim-{cs.__version__}-")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert f"version: {cs.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    code = "import importlib.metadata as m, collsim; print(m.version('collsim'), collsim.__file__)"
    number, file = ran(installed, tmp_path, "python", "-c", code).split(maxsplit=1)
    assert number == cs.__version__
    assert Path(file.strip()).is_relative_to(installed.parent)


def test_the_wheel_holds_all_data_the_types_and_the_configuration_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
        config = wheel.read("collsim/app/server/.streamlit/config.toml")
    assert config == (ROOT / ".streamlit" / "config.toml").read_bytes()
    tracked = subprocess.run(["git", "ls-files", "collsim"], cwd=ROOT, capture_output=True, text=True)
    wanted = set(tracked.stdout.split()) | {"collsim/py.typed", "collsim/app/server/app.py"}
    modules = {name for name in wanted if name.endswith((".js", ".d.ts")) and "/bundles/" not in name}
    modules |= {
        name for name in wanted if name.startswith("collsim/viz/") and name.endswith(".css")
    }  # in bundles as text
    assert wanted - modules <= names
    assert not modules & names, "browsers load what was built of the modules"
    assert {name.split("/")[0] for name in names} == {"collsim", f"collsim-{cs.__version__}.dist-info"}
    with tarfile.open(built[0]) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"README.md", "LICENSE", "app.py", ".streamlit/config.toml", "tests/test_package.py"} <= held
    assert {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.md")} <= held
    assert {".ci/run", ".github/workflows/ci.yml", ".pre-commit-config.yaml", ".binder/runtime.txt"} <= held
    assert {f"examples/{path.name}" for path in (ROOT / "examples").iterdir() if path.is_file()} <= held


@pytest.mark.slow
def test_commands_work_from_the_wheel_and_leave_nothing_in_the_working_directory(installed, tmp_path):
    run = ["collsim", "run", "allreduce_ring", "--machine", "dgx-a100", "--nodes", "2", "--json"]
    place = cs.machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=place), place, "64MiB")
    assert json.loads(ran(installed, tmp_path, *run))["time"] == pytest.approx(trace.time, rel=1e-12)
    answer = tmp_path / "answer.py"
    answer.write_text(
        "import collsim as cs\n"
        "def broadcast_to_all(n):\n    for r in range(1, n):\n        yield cs.copy(0, r, chunk=0)\n"
        "print(cs.exercise('broadcast-to-all').check(broadcast_to_all).passed, cs.teach.progress())\n"
    )
    home = tmp_path / "home"
    found = subprocess.run(
        [installed / "python", answer.name],
        cwd=tmp_path,
        env={**outside(), "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "LOCALAPPDATA": str(home)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert found.startswith("True {'broadcast-to-all'"), found
    assert [path.name for path in home.rglob("progress.json")] == ["progress.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.py", "home"]


@pytest.mark.slow
def test_the_site_is_built_from_the_wheel(installed, tmp_path):
    """A part of it (all of it takes half a minute); what it reads from the package is the same."""
    code = (
        "from collsim.site import build_site; from collsim.site.gallery import NETWORKS;print(build_site('site', ['en'], "
        "networks=NETWORKS[:1], only=['allreduce_ring']).files)"
    )
    assert int(ran(installed, tmp_path, "python", "-c", code)) > 10
    assert (tmp_path / "site" / "index.html").is_file()
    assert "--lang" in ran(installed, tmp_path, "collsim", "site", "--help")


@pytest.mark.slow
def test_the_app_runs_from_the_wheel_with_its_configuration_and_ends_with_the_command(installed, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        command = [installed / "collsim", "app", "--headless", f"--port={port}"]
        process = subprocess.Popen(command, cwd=tmp_path, env=outside(), stdout=out, stderr=subprocess.STDOUT)
        try:
            assert eventually(lambda: answers(port), process, log)
            page = urlopen(f"http://127.0.0.1:{port}/", timeout=10).read().decode()
            assert re.search(r"<title>\w+</title>", page)
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        finally:
            process.kill()
            process.wait()
    assert not answers(port), "the server lives on without the command"
    assert [path.name for path in tmp_path.iterdir()] == ["log.txt"]
    code = (
        "import collsim.app.server as server; from streamlit import config; from pathlib import "
        "Path;config._main_script_path = "
        "str(Path(server.__file__).with_name('app.py'));print(*map(config.get_option, ['browser.gatherUsageStats', "
        "'server.address', 'server.maxUploadSize','theme.light.primaryColor']))"
    )
    said = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    wanted = [said["browser"]["gatherUsageStats"], said["server"]["address"], said["server"]["maxUploadSize"]]
    assert ran(installed, tmp_path, "python", "-c", code).split() == [
        *map(str, wanted),
        said["theme"]["light"]["primaryColor"],
    ]


def answers(port):
    try:
        return urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).status == 200
    except OSError:
        return False


def eventually(true, process, log):
    end = time.monotonic() + 90
    while not true():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return True


def test_what_the_oldest_versions_are_tried_on_is_there():
    named = re.findall(r'"(tests/[\w/.]+)"', (ROOT / ".ci" / "lowest.py").read_text())
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
