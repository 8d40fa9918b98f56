"""Evidence that somebody made to harm: refused with a sentence or shown as text, within bounds of time and memory."""

import gzip
import os
import re
import time
import zipfile

import pytest

import collsim as cs
from collsim.diagnosis import compare_nodes, evidence_pieces, list_studied_cases
from collsim.locale import LANGUAGES

OFF = "n1:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1"
TAGS = "<script>alert(1)</script><img src=x onerror=alert(2)>[link](javascript:alert(3))"


def write_bomb(path):
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(80):
            file.write(b"0" * 2**20)


def write_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", b"0" * 2**24)


def write_sparse(path):
    with path.open("wb") as file:
        file.truncate(2**36)


FILES = {
    "bomb.log.gz": write_bomb,
    "bomb.zip": write_zip,
    "sparse.log": write_sparse,
    "noise.bin": lambda path: path.write_bytes(bytes(range(256)) * 1000),
    "itself.log": lambda path: path.symlink_to(path),
    "zero.log": lambda path: path.symlink_to("/dev/zero"),
    "gone.log": lambda path: path.symlink_to("/nowhere/at/all"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_text_or_too_large_is_refused_by_name_and_soon(tmp_path, name):
    FILES[name](tmp_path / name)
    begin = time.process_time()
    with pytest.raises(cs.CollsimError, match=name.partition(".")[0]):
        cs.diagnose(tmp_path / name)
    assert time.process_time() - begin < 5


def test_many_large_files_are_refused_before_they_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_pieces, "_MAX_CHARACTERS", 1000)
    for number in range(4):
        (tmp_path / f"node-{number}.log").write_text(OFF + "\n" + "x" * 400)
    with pytest.raises(cs.CollsimError, match=r"node-2\.log"):
        cs.diagnose(*sorted(tmp_path.iterdir()))
    with pytest.raises(cs.CollsimError, match=r"node-2\.log"):
        compare_nodes(tmp_path)


def test_thousands_of_files_are_refused_without_being_read(tmp_path):
    for number in range(2_001):
        os.symlink("/dev/zero", tmp_path / f"{number}.log")
    with pytest.raises(cs.CollsimError, match="at most"):
        cs.diagnose(*sorted(tmp_path.iterdir()))


def test_a_pipe_in_a_folder_is_no_evidence(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "nccl.log").write_text(OFF)
    assert [piece.tools for piece in cs.diagnose(tmp_path).pieces] == [("NCCL log",)]


def test_what_a_terminal_acts_on_is_shown_and_not_done():
    text = f"\x1b]0;owned\x07\x1b[2J\u202e\x08{OFF}\nunknown\x1b[31m"
    diagnosis = cs.diagnose({"a\x1b[2J.log": text, "b.txt": "\x1b]0;owned\x07 hello \u202e"})
    for written in (diagnosis.report(), diagnosis.report("zh", "html")):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)
    assert "hello" in diagnosis.report()


@pytest.mark.parametrize("place", ["name", "first line", "quoted line", "ruled out"])
def test_tags_and_links_of_evidence_are_text_in_every_report(place):
    texts = {
        "name": {f"{TAGS.replace('/', '')}.log": OFF},
        "first line": {"x.txt": TAGS},
        "quoted line": {"x.log": f"{OFF}\nn1:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC {TAGS} LOC"},
        "ruled out": {"x.log": f"{OFF}\nn1:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/{TAGS}"},
    }[place]
    diagnosis = cs.diagnose(texts)
    html, markdown = diagnosis.report("en", "html"), diagnosis.report()
    assert "<script" not in html
    assert "<img" not in html
    for line in markdown.splitlines():
        if not line.startswith("    "):  # an indented line is shown as it is
            assert not re.search(r"(?<!\\)(<(script|img)|\[link)", line)
    assert place == "quoted line" or "alert(2)" in markdown


def test_tags_in_names_of_nodes_are_text_in_a_fleet():
    smi = "| NVIDIA-SMI 570.1 Driver Version: 57{}.1 CUDA Version: 12.8 |"
    fleet = compare_nodes({f"<img src=x>{k}/a.txt": smi.format(k // 3) for k in range(4)})
    assert fleet.verdict == "odd"
    assert "<img" not in fleet.report("en", "html")
    assert not re.search(r"(?<!\\)<img", fleet.report())


TABLE = list_studied_cases()["nvls_driver"].texts["all_reduce_perf.txt"]


@pytest.mark.parametrize(
    ("name", "data", "kind", "note"),
    [
        ("nccl.log", f"{OFF}\nn1:1:2 [0] NCCL INFO 通信".encode()[:-1], "nccl.variable", "line 2"),
        ("nccl.log", b"n1:1:2 [0] NCCL INFO \xff\xfe\n" + OFF.encode() + b"\n", "nccl.variable", "line 1"),
        ("nccl.log", f"{OFF}\n{'x' * 10**7}".encode(), "nccl.variable", "line 2"),
        (
            "nccl.log.gz",
            gzip.compress(f"{OFF}\n{os.urandom(99_999).hex()}\n".encode())[:50_000],
            "nccl.variable",
            "read",
        ),
    ],
    ids=["cut in a character", "damaged in the middle", "long line", "cut archive"],
)
def test_of_damaged_files_is_read_what_is_whole_and_said_what_was_left_out(tmp_path, name, data, kind, note):
    for node in ("n1", "n2", "n3"):
        (tmp_path / node).mkdir()
        (tmp_path / node / name).write_bytes(data)
    diagnosis, fleet = cs.diagnose(tmp_path / "n1" / name), compare_nodes(tmp_path)
    assert [cause.key for cause in diagnosis.causes] == ["p2p_disabled"]
    for language in LANGUAGES:
        for notes in (diagnosis.list_notes(language), fleet.list_notes(language)):
            assert name in notes[0]
            assert language == "zh" or note in notes[0]
    assert diagnosis.list_notes()[0] in fleet.report()


def test_a_table_that_is_cut_in_its_last_line_is_read_without_it(tmp_path):
    rows = [number for number, line in enumerate(TABLE.splitlines()) if re.match(r"\s+\d", line)]
    cut = "\n".join([*TABLE.splitlines()[: rows[-1]], TABLE.splitlines()[rows[-1]][:60]])
    (tmp_path / "perf.txt").write_text(cut)
    diagnosis = cs.diagnose(tmp_path / "perf.txt")
    assert len(diagnosis.job.run.times) == len(rows) - 1
    assert "last line" in diagnosis.list_notes()[-1]


def test_a_table_that_does_not_name_its_collective_is_no_crash():
    head = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong #iters\n"
    rows = "     8     2   float   sum   -1   29.79    0.00    0.00   0   32.46    0.00    0.00   0   20\n"
    diagnosis = cs.diagnose({"perf.txt": head + rows})
    assert "which collective" in " ".join(diagnosis.list_notes())


def test_of_a_chakra_trace_that_is_cut_the_nodes_before_the_cut_are_read(tmp_path):
    pytest.importorskip("google.protobuf")
    cs.save(cs.schedule("allreduce_ring", ranks=2), tmp_path / "a.et", nbytes="1MiB")
    whole = cs.diagnose(tmp_path / "a.0.et")
    data = (tmp_path / "a.0.et").read_bytes()
    (tmp_path / "a.0.et").write_bytes(data[:-3])
    cut = cs.diagnose(tmp_path / "a.0.et")
    assert len(whole.pieces) == len(cut.pieces) == 1
    assert "damage" in cut.list_notes()[0]


@pytest.mark.parametrize("options", [{"anonymize": range(10**12)}, {"model": range(10**12)}, {"batch": range(10**12)}])
def test_options_of_a_wrong_type_are_refused_at_once(options):
    with pytest.raises(cs.CollsimError, match=next(iter(options))):
        cs.diagnose({"nccl.log": OFF}, **options)
    with pytest.raises(cs.CollsimError, match=next(iter(options))):
        compare_nodes({f"n{k}/nccl.log": OFF for k in range(3)}, **options)
    with pytest.raises(cs.CollsimError, match="path"):
        compare_nodes(range(10**12))


MATRIX = "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_a_matrix_that_powershell_saved_is_read_alike_everywhere(tmp_path, encoding):
    path = tmp_path / "topo.txt"
    path.write_bytes(MATRIX.encode(encoding) if encoding == "utf-8-sig" else ("\ufeff" + MATRIX).encode(encoding))
    with pytest.warns(cs.topology.FormatWarning):
        assert cs.load_topology(path).ranks == cs.load(path).ranks == 2
    assert cs.diagnose(path).pieces[0].tools == ("nvidia-smi topo -m",)


def test_more_nvlinks_than_any_gpu_has_are_refused_by_their_cell(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text(MATRIX.replace("NV12", "NV99999999999", 1))
    for read in (cs.load_topology, cs.load):
        with pytest.raises(cs.CollsimError, match="line 2: GPU0 to GPU1"):
            read(path)
    assert cs.diagnose(path).verdict == "unknown"
