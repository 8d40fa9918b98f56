"""The command line says what the API says, and a mistake is one sentence and exit code 2."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app, teaching
from collsim.sandbox import Isolation, sandbox_launcher
from collsim.teach.exercises import grading

MY_RING = """
import numpy as np
import collsim as cs

@cs.algorithm("allreduce")
def my_ring(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k) % n)
    for k in range(n - 1):
        yield cs.copy(r, (r + 1) % n, chunk=(r + 1 - k) % n)

@cs.algorithm("allreduce")
def half_ring(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k) % n)
"""


def collsim(*words: str):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("what", ["algorithms", "machines", "topologies", "collectives", "formats"])
def test_list_names_what_there_is(what):
    done = collsim("list", what, "--json")
    assert done.exit_code == 0
    names = {row["name"] for row in json.loads(done.stdout)}
    there = {
        "algorithms": set(cs.algorithms()),
        "machines": set(cs.machines()),
        "topologies": {"ring", "switch", "torus"},
        "collectives": set(cs.collectives()),
        "formats": {"msccl", "json", "csv"},
    }
    assert there[what] <= names


def test_show_prints_the_text_diagram():
    done = collsim("show", "allreduce_ring", "--ranks", "3")
    assert done.exit_code == 0
    assert str(cs.schedule("allreduce_ring", ranks=3)) in done.stdout
    assert "Patarasuk" in done.stdout


def test_run_agrees_with_the_api():
    done = collsim(
        "run", "allreduce_ring", "--topology", "ring(8, bandwidth=25GB/s, alpha=1us)", "--nbytes", "64MiB", "--json"
    )
    assert done.exit_code == 0
    record = json.loads(done.stdout)
    # 14 steps of 8 MiB at 25 GB/s and 1 us
    assert record["time"] == pytest.approx(14 * (8 * 2**20 / 25e9 + 1e-6), rel=1e-9)
    assert record["busbw"] == pytest.approx(record["algbw"] * 14 / 8, rel=1e-12)
    assert record["sent_bytes"] == [14 * 8 * 2**20] * 8


def test_run_hands_options_to_the_algorithm_and_takes_all_channels_unless_told():
    two = ("run", "allreduce_ring", "--machine", "dgx-a100", "--nodes", "2")
    one = json.loads(collsim(*two, "--channels", "1", "--json").stdout)
    eight = json.loads(collsim(*two, "--json").stdout)
    assert (one["channels"], eight["channels"]) == (1, 8)
    assert eight["time"] < one["time"] / 4
    assert "channels 8, all that the machine offers" in collsim(*two).stdout


def test_run_takes_the_event_engine_and_its_sharing():
    words = [
        "run",
        "broadcast_flat",
        "--topology",
        "line(3, bandwidth=25GB/s, alpha=0)",
        "--nbytes",
        "25MB",
        "--engine",
        "event",
        "--json",
    ]
    fair, fifo = (json.loads(collsim(*words, "--sharing", s).stdout)["time"] for s in ("fair", "fifo"))
    # two copies leave rank 0 over one cable, the second for rank 2: shared 2 ms; one after the other, stored at rank 1, no less
    assert fair == pytest.approx(2e-3, rel=1e-6)
    assert fifo >= fair * (1 - 1e-9)
    wrong = collsim("run", "allreduce_ring", "--ranks", "4", "--sharing", "fair")
    assert wrong.exit_code == 2


def test_the_state_of_the_machine_is_told_to_run_and_to_compare_alike():
    """Rank 3 ten times slower: every step of the ring waits for it, so with many bytes the run takes ten times as long."""
    event = ["--topology", "switch(8, alpha=0s)", "--engine", "event", "--json"]
    for words in (
        ["run", "allreduce_ring", "--nbytes", "64MiB"],
        ["compare", "--algorithm", "allreduce_ring", "--nbytes", "64MiB"],
    ):
        well, ill = (json.loads(collsim(*words, *event, *more).stdout) for more in ([], ["--slow", "3=10"]))
        well, ill = (found if isinstance(found, dict) else found[0] for found in (well, ill))
        assert ill["time"] == pytest.approx(10 * well["time"], rel=1e-6)


def test_compare_has_a_row_per_algorithm_and_marks_the_fastest_of_each_size():
    done = collsim("compare", "--collective", "broadcast", "--topology", "switch(8)", "--nbytes", "1KiB:1MiB:32")
    assert done.exit_code == 0
    rows = [line for line in done.stdout.splitlines() if line.startswith("broadcast_")]
    assert any(row.startswith("broadcast_binomial") for row in rows)
    assert sum(row.count("*") for row in rows) >= 3, "one mark or more for each of the three sizes"
    assert re.search(r"s\*( \(1 × 4\))?\s*$", rows[0]), "the best at the largest size comes first"
    assert "1 × {1, 4, 16, 64, 256}" in done.stdout
    pinned = collsim("compare", "--topology", "switch(8)", "--nbytes", "1MiB", "--chunks", "1", "--channels", "1")
    assert "each at its best of 1 × 1" in pinned.stdout


def test_verify_takes_a_file_of_the_users(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(MY_RING)
    assert collsim("verify", f"{path}:my_ring", "--ranks", "2:9").exit_code == 0
    wrong = collsim("verify", f"{path}:half_ring", "--ranks", "2:9")
    assert wrong.exit_code == 1
    assert "rank 0" in wrong.stdout
    assert "chunk" in wrong.stdout


MY_DOUBLES = """import collsim as cs

@cs.algorithm("reduce")
def doubles(n, *, times=64):
    for r in range(1, n):
        yield cs.reduce(r, 0, chunk=[0, 1])
    if n > 2:
        yield cs.copy(1, 1, chunk=0, into=1)
        for _ in range(times):
            yield cs.copy(1, 2, chunk=1)
            yield cs.reduce(2, 1, chunk=1)
        yield cs.reduce(1, 0, chunk=1, into=0)
"""


@pytest.mark.parametrize("times", [1, 63, 64, 65, 130])
def test_verify_finds_a_contribution_that_64_bits_would_lose(tmp_path, times):
    path = tmp_path / "my.py"
    path.write_text(MY_DOUBLES)
    wrong = collsim("verify", f"{path}:doubles", "--ranks", "3:9", "--times", str(times))
    assert wrong.exit_code == 1
    assert f"r0 + {'>2^63' if times > 62 else 1 + 2**times}·r1 + r2, but reduce wants" in wrong.stdout


def test_show_run_and_verify_take_load_alike(tmp_path):
    mine = tmp_path / "my.py"
    mine.write_text(MY_RING)
    for words in (("show", "--ranks", "4"), ("run", "--ranks", "4"), ("verify", "--ranks", "2:9")):
        assert (done := collsim(words[0], "my_ring", "--load", str(mine), *words[1:])).exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "allreduce_rin", "--ranks", "4"], "did you mean 'allreduce_ring'"),
        (["run", "allreduce_ring", "--machine", "dgx-h10"], "did you mean"),
        (["run", "allreduce_ring", "--ranks", "4", "--nbytes", "64M"], "64MB"),
        (["run", "allreduce_ring", "--ranks", "4", "--nbytes", "-1"], "negative"),
        (["run", "allreduce_ring", "--ranks", "0"], "ranks"),
        (["run", "allreduce_ring", "--ranks", "4", "--chanels", "2"], "did you mean 'channels'"),
        (["run", "allreduce_ring", "--topology", "ring(8, bandwith=3)"], "bandwith"),
        (["run", "allreduce_ring", "--topology", "__import__('os')"], "topology"),
        (["run", "broadcast_binomial", "--ranks", "4", "--root", "4"], "root=4"),
        (["run", "allreduce_ring", "--machine", "dgx-a100", "--ranks", "9"], "9 ranks"),
        (["run", "allreduce_ring", "--ranks", "4", "--dtype", "float33"], "float32"),
        (["run", "allreduce_ring", "--ranks", "4", "--engine", "warp"], "engine"),
        (["run", "allreduce_ring"], "--machine"),
        (["show", "allreduce_ring", "--ranks", "4", "--channels"], "needs a value"),
        (["verify", "nothing.py:x"], "nothing.py"),
        (["verify", "allreduce_ring", "--ranks", "9:2"], "9:2"),
        (["verify", "allreduce_ring", "--ranks", ""], "ranks ''"),
        (["compare", "--collective", "allredcue", "--topology", "switch(4)"], "did you mean 'allreduce'"),
        (["compare", "--topology", "switch(4)", "--nbytes", "1KiB:2GiB:1"], "factor"),
        (["compare", "--topology", "switch(4)", "--nbytes", "1:1e18:1.0000001"], "larger factor"),
        (["compare"], "--topology"),
        (["run", "allreduce_ring", "--ranks", "8", "--engine", "event", "--slow", "3"], "--slow 3=2"),
        (["run", "allreduce_ring", "--ranks", "8", "--engine", "event", "--late", "3=soon"], "--late 3=1ms"),
        (["sweep", "."], "directory"),
        (["app", "--port", "99999"], "65535"),
        (["list", "algoritms"], "did you mean 'algorithms'"),
        (["run", "allreduce_ring", "-n", "8"], "did you mean --ranks"),
        (["run", "allreduce_ring", "--ranks", "8", "--size", "64MiB"], "did you mean --nbytes"),
        (["simulate", "allreduce_ring"], "Did you mean 'run'"),
        (["machines"], "Did you mean 'list'"),
        (["version"], "Did you mean '--version'"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(words, sentence):
    done = collsim(*words)
    assert done.exit_code == 2, done.output
    assert sentence in done.stderr
    assert "Traceback" not in done.output


TOPO_M = """\
        GPU0    GPU1    CPU Affinity
GPU0     X      NV4     0-15
GPU1    NV4      X      0-15
"""


def test_run_on_the_machine_in_a_file(tmp_path):
    """What nvidia-smi topo -m printed, pasted into a file; what it does not say is said on stderr, not in the result."""
    (tmp_path / "mine.txt").write_text(TOPO_M)
    done = collsim("run", "allreduce_ring", "--topology-file", str(tmp_path / "mine.txt"), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["ranks"] == 2
    assert "collsim: mine.txt" in done.stderr


def test_fabric_and_oversubscription_are_those_of_the_api():
    words = [
        "run",
        "allreduce_ring",
        "--machine",
        "dgx-h100",
        "--nodes",
        "4",
        "--fabric",
        "leaf-spine",
        "--oversubscription",
        "2",
        "--json",
    ]
    there = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine", oversubscription=2)
    assert json.loads(collsim(*words).stdout)["topology"] == there.name


def test_convert_goes_by_suffix(tmp_path):
    cs.save(cs.schedule("allreduce_ring", ranks=4), tmp_path / "ring.xml")
    done = collsim("convert", str(tmp_path / "ring.xml"), str(tmp_path / "ring.json"))
    assert done.exit_code == 0, done.output
    back = cs.load(tmp_path / "ring.json")
    cs.verify(back)
    assert back.collective == "allreduce"


def test_accuracy_reports_on_any_table(tmp_path):
    pytest.importorskip("pandas")
    for name in ("cases.csv", "measured.csv"):
        (tmp_path / name).write_text("case_id\n")
    done = collsim("accuracy", str(tmp_path / "cases.csv"), str(tmp_path / "measured.csv"))
    assert done.exit_code == 2
    assert "has no column" in done.stderr


def test_predict_says_what_nccl_would_choose():
    """8 x H100: NVLS at 1 GiB, busbw 475 to 480 GB/s measured (nccl-tests issue 153); LL for a KiB."""
    done = collsim("predict", "allreduce", "--machine", "dgx-h100", "--nbytes", "1KiB:1GiB:1048576", "--json")
    small, large = json.loads(done.stdout)
    assert small["protocol"] == "LL"
    assert large["algorithm"] == "NVLS"
    assert large["busbw"] == pytest.approx(477e9, rel=0.06)


LOG = """
# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
# Collective test starting: all_reduce_perf
     1048576        262144     float     sum      -1     45.3   23.15   40.51      0     45.1   23.25   40.69      0
     4194304       1048576     float     sum      -1     80.3   52.23   91.41      0     80.1   52.36   91.63      0
    67108864      16777216     float     sum      -1    400.5  167.56  293.23      0    400.1  167.73  293.53      0
   268435456      67108864     float     sum      -1   1300.5  206.41  361.22      0   1300.1  206.47  361.33      0
  1073741824     268435456     float     sum      -1   4800.5  223.67  391.43      0   4800.1  223.69  391.46      0
"""


def test_calibrate_fits_a_log_and_writes_it_down(tmp_path):
    (tmp_path / "run.txt").write_text(LOG)
    done = collsim("calibrate", str(tmp_path / "run.txt"), "--machine", "dgx-h100", "-o", str(tmp_path / "links.yaml"))
    assert done.exit_code == 0, done.output
    assert "5 measurements" in done.stdout
    asked = ("predict", "allreduce", "--topology-file", str(tmp_path / "links.yaml"), "--nbytes", "1GiB", "--json")
    again = collsim(*asked)
    assert again.exit_code == 0, again.output
    (row,) = json.loads(again.stdout)
    assert row["time"] == pytest.approx(4800.5e-6, rel=0.05)
    assert not any("outside" in note for note in row["notes"])
    (row,) = json.loads(collsim(*asked[:5], "8GiB", "--json").stdout)
    assert any("outside the sizes measured" in note for note in row["notes"])


def test_worksheet_writes_sheet_and_key(tmp_path):
    done = collsim("worksheet", str(tmp_path / "sheet.md"), "--topology", "ring(4)", "--seed", "3", "--count", "4")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "sheet.md").read_text() != (tmp_path / "sheet-key.md").read_text()
    assert collsim("worksheet", str(tmp_path / "sheet.doc"), "--ranks", "4").exit_code == 2


def test_a_command_that_answers_in_chinese_says_its_mistakes_so(tmp_path):
    wrong = ("worksheet", str(tmp_path / "sheet.doc"), "--ranks", "4")
    assert "the suffix must be .md, .pdf or .xml" in collsim(*wrong).output
    assert "后缀必须是 .md、.pdf 或 .xml" in collsim(*wrong, "--lang", "zh").output
    assert (
        "没有名为 'allreduce_rin' 的算法；您是不是要 "
        in collsim(*wrong, "--lang", "zh", "--algorithm", "allreduce_rin").output
    )


def test_grade_makes_a_table(tmp_path):
    (tmp_path / "ada.py").write_text(
        "import collsim as cs\n\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n", encoding="utf-8"
    )
    done = collsim("grade", str(tmp_path), "--only", "send-one-chunk", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["student"] == "ada"


def test_grade_runs_nothing_allow_unsandboxed_until_it_is_told_to(tmp_path, monkeypatch):
    (tmp_path / "ada.py").write_text("def send_one_chunk(n):\n    return []\n", encoding="utf-8")
    for module in (teaching, grading, sandbox_launcher):
        monkeypatch.setattr(module, "detect_isolation", lambda: Isolation.NONE)
    refused = collsim("grade", str(tmp_path))
    assert refused.exit_code == 2
    assert "--no-sandbox" in refused.stderr
    done = collsim("grade", str(tmp_path), "--no-sandbox", "--json")
    assert done.exit_code == 0, done.output
    assert "No sandbox here" in done.stderr


def test_python_dash_m_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "collsim", "show", "allreduce_ring"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "+3←3" in done.stdout


def test_the_version_is_said():
    done = collsim("--version")
    assert done.exit_code == 0
    assert done.stdout.split() == ["collsim", cs.__version__]


def test_a_machine_from_a_file_takes_the_options_of_a_machine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("collsim: 1\nmachine: dgx-a100\noptions: {p2p: false}\n")
    names = {}
    for words in ((), ("--p2p",), ("--nodes", "2")):
        done = collsim("run", "allreduce_ring", "--topology-file", str(path), "--json", *words)
        names[words] = json.loads(done.stdout)["topology"]
    assert list(names.values()) == ["dgx-a100(p2p=False)", "dgx-a100", "dgx-a100(nodes=2, p2p=False)"]


def test_a_warning_is_a_sentence_without_the_line_of_code_that_gave_it():
    code = "import warnings, collsim.cli.shell as s; s.app = lambda **_: warnings.warn('mind this'); s.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "collsim: mind this\n"


def test_help_breaks_its_lines_where_the_terminal_does():
    """Not where the source does, as rich's markup would."""
    said = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "300"}).output
    assert "the fastest of a size marked with *, the best at the largest first." in said


def test_help_says_which_extra_the_app_needs():
    done = CliRunner().invoke(app, ["app", "--help"], env={"COLUMNS": "200"})
    assert "pip install 'collsim[app]'" in done.stdout


def test_an_app_without_its_packages_names_them_and_the_extra(monkeypatch):
    monkeypatch.setattr(teaching, "find_spec", lambda name: None if name in ("streamlit", "segno") else name)
    done = collsim("app")
    assert done.exit_code == 2
    assert "(streamlit, segno)" in done.stderr
    assert "pip install 'collsim[app]'" in done.stderr


def test_what_is_of_a_class_only_is_refused_without_one():
    for words in (["--address", "teacher.local"], ["--tabs", "40"]):
        done = collsim("app", *words)
        assert done.exit_code == 2
        assert "add --class" in done.stderr


EVEN = """
import numpy as np
import collsim as cs

@cs.algorithm("allreduce", ranks=lambda n: None if n % 2 == 0 else "it needs an even number")
def even_ring(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k) % n)
    for k in range(n - 1):
        yield cs.copy(r, (r + 1) % n, chunk=(r + 1 - k) % n)
"""


def test_verify_leaves_out_what_an_algorithm_refuses_and_says_so(tmp_path):
    file = tmp_path / "even.py"
    file.write_text(EVEN)
    found = CliRunner().invoke(app, ["verify", f"{file}:even_ring", "--ranks", "2:9"])
    assert found.exit_code == 0
    assert "correct for n = 2, 4, 6, 8; it does not take 3, 5, 7, 9" in found.output
    none = CliRunner().invoke(app, ["verify", f"{file}:even_ring", "--ranks", "3"])
    assert none.exit_code != 0


def test_a_count_of_thousands_of_digits_and_a_path_that_is_too_long_are_mistakes_in_a_few_words(tmp_path):
    digits = collsim("predict", "allreduce", "--machine", "dgx-a100", "--nics", "9" * 5000)
    path = collsim("show", "x" * 70_000, "--ranks", "3")
    for done in (digits, path):
        assert done.exit_code == 2
        assert isinstance(done.exception, SystemExit)
        assert len(done.stderr) < 1000
