"""One interface for all files: the format is found, what was saved comes back, a file is whole or not there, and nothing bad
gets through."""

import gzip
import importlib.util
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import cross

import collsim as cs
from collsim.files import create_file, read_json, read_text
from collsim.io import convert, formats, load, save
from collsim.io.file_formats import _FORMATS, Format, register
from collsim.schedule import freeze
from collsim.steps import copy, reduce, repeat

DOCS = Path(__file__).parents[2] / "docs"
BACK = [".json", ".csv", ".json.gz", ".csv.gz"]


def same(a, b):
    assert (a.transfers == b.transfers).all()
    for name in ("name", "collective", "ranks", "endpoints", "chunks", "slots", "root", "helpers_on"):
        assert getattr(a, name) == getattr(b, name), name
    assert dict(a.options) == dict(b.options)
    assert (a.depends is None) == (b.depends is None)
    for x, y in zip(a.depends or (), b.depends or (), strict=True):
        assert (x == y).all()


@pytest.mark.parametrize(("name", "suffix"), cross(sorted(cs.algorithms()), BACK))
def test_every_algorithm_comes_back_as_it_was(name, suffix, tmp_path):
    for n in (2, 4, 8):
        try:
            schedule = cs.algorithms()[name](n)
        except cs.CollsimError:
            continue
        path = tmp_path / f"a{suffix}"
        save(schedule, path)
        same(load(path), schedule)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_explicit_dependencies_come_back(suffix, tmp_path):
    save(cs.schedule("allreduce_tree", ranks=8), tmp_path / "a.xml")
    schedule = load(tmp_path / "a.xml")
    assert len(schedule.depends[1]) > 0
    save(schedule, tmp_path / f"b{suffix}")
    same(load(tmp_path / f"b{suffix}"), schedule)


def test_a_transfer_waits_only_for_earlier_ones(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("step,src,dst,chunk,into,op,after\n0,0,1,0,,reduce,1\n1,1,0,0,0,copy,\n")
    with pytest.raises(cs.FormatError, match="transfer 0: depends=1 is out of range"):
        load(path, collective="allreduce")


def test_json_keeps_a_repeated_pattern_short(tmp_path):
    n = 64
    r = np.arange(n)
    steps = [repeat(reduce(r, (r + 1) % n, r), n - 1, -1, n), repeat(copy(r, (r + 1) % n, (r + 1) % n), n - 1, -1, n)]
    ring = freeze("ring", "allreduce", n, steps, chunks=n)
    save(ring, tmp_path / "a.json")
    back = load(tmp_path / "a.json")
    assert len(back.patterns) == 2
    assert (tmp_path / "a.json").stat().st_size < 20_000
    same(back, ring)


def test_a_hand_written_csv_needs_only_the_transfers(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("step,src,dst,chunk,into,op\n0,0,1,0,,reduce\n1,1,0,0,0,copy\n")
    schedule = load(path, collective="allreduce")
    cs.verify(schedule)
    assert (schedule.ranks, schedule.steps, len(schedule)) == (2, 2, 2)
    with pytest.raises(cs.FormatError, match="collective='allreduce'"):
        load(path)


def test_convert_goes_from_any_schedule_to_any_other(tmp_path):
    ring = cs.schedule("allreduce_ring", ranks=4)
    save(ring, tmp_path / "a.xml")
    convert(tmp_path / "a.xml", tmp_path / "b.json")
    convert(tmp_path / "b.json", tmp_path / "c.csv")
    convert(tmp_path / "c.csv", tmp_path / "d.goal", nbytes="1MiB")
    assert len(load(tmp_path / "c.csv")) == len(ring)
    assert "num_ranks 4" in (tmp_path / "d.goal").read_text()
    with pytest.raises(cs.CollsimError, match="nbytes"):
        convert(tmp_path / "c.csv", tmp_path / "e.goal")
    assert not (tmp_path / "e.goal").exists()


def test_an_algorithm_is_loaded_by_the_same_function(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import collsim as cs\n\n@cs.algorithm('broadcast')\ndef to_all_of_mine(n):\n    yield [cs.copy(0, r, 0) for "
        "r in range(1, n)]\n"
    )
    try:
        assert load(path)(3).collective == "broadcast"
        assert load(f"{path}:to_all_of_mine").name == "to_all_of_mine"
    finally:
        from collsim.registry import _REGISTRY

        _REGISTRY.pop("to_all_of_mine", None)


def test_files_of_one_suffix_are_distinguished_by_what_is_in_them(tmp_path):
    (tmp_path / "topo.xml").write_text(
        '<system version="1"><cpu numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" '
        'modelid="85">'
        '<pci busid="0000:01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="0" sm="80" '
        'rank="0" gdr="1"/></pci>'
        '<pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="1" sm="80" '
        'rank="1" gdr="1"/></pci>'
        "</cpu></system>"
    )
    save(cs.schedule("allreduce_ring", ranks=2), tmp_path / "algo.xml")
    assert load(tmp_path / "topo.xml").ranks == 2
    assert load(tmp_path / "algo.xml").ranks == 2
    assert isinstance(load(tmp_path / "topo.xml"), cs.Topology)
    (tmp_path / "what.xml").write_text("<html/>")
    with pytest.raises(cs.FormatError, match=r"what\.xml: its beginning does not look like any of: .*msccl"):
        load(tmp_path / "what.xml")


def test_a_name_without_a_known_suffix_is_recognised_by_its_content(tmp_path):
    save(cs.schedule("allreduce_ring", ranks=3), tmp_path / "a.json")
    os.rename(tmp_path / "a.json", tmp_path / "upload")
    assert load(tmp_path / "upload").ranks == 3


def test_adding_a_format_is_one_registration(tmp_path):
    register(
        Format(
            "count", (".count",), "schedule", "number of transfers", write=lambda s, path: path.write_text(str(len(s)))
        )
    )
    try:
        save(cs.schedule("allreduce_ring", ranks=2), tmp_path / "a.count")
        assert (tmp_path / "a.count").read_text() == "4"
        with pytest.raises(cs.FormatError, match="count files can be written, but not be loaded"):
            load(tmp_path / "a.count")
    finally:
        del _FORMATS["count"]


def test_every_format_says_what_it_is():
    for name, entry in formats().items():
        assert entry.name == name
        assert entry.about
        assert entry.read or entry.write
        assert all(s.startswith(".") for s in entry.suffixes)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, p: save(s, p / "a.xyz"), "no format writes a schedule"),
        (lambda s, p: save(s, p / "a.json", format="jsom"), "did you mean 'json'"),
        (lambda s, p: save(s, p / "a.txt", format="nccl-tests"), "cannot be written from a schedule"),
        (lambda s, p: save(42, p / "a.json"), "cannot save a int"),
        (lambda s, p: load(p / "none.json"), "no file"),
        (lambda s, p: load(p / "none.json", format="goal"), "can be written but not read"),
        (lambda s, p: load(p), "cannot be read"),
        (lambda s, p: save(s, p / "no" / "a.json"), "cannot write"),
    ],
)
def test_a_wrong_call_says_the_way_out(call, words, tmp_path):
    with pytest.raises(cs.CollsimError, match=words):
        call(cs.schedule("allreduce_ring", ranks=2), tmp_path)


# ---- whole or not at all -------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_finished_is_not_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def half():
        with create_file(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", sorted(n for n, f in formats().items() if f.write and n not in ("mp4", "chakra")))
def test_a_place_that_cannot_be_written_is_named_as_it_was_given(name, tmp_path):
    schedule, topology = cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4)
    trace = cs.simulate(schedule, topology, "1MiB")
    things = {
        "schedule": schedule,
        "topology": topology,
        "trace": trace,
        "table": cs.sweep("allreduce", "allreduce_ring", topology, 1024),
    }
    entry = formats()[name]
    options = {"nbytes": "1MiB"} if name == "goal" else {}
    suffix = max(entry.suffixes, key=len)
    (tmp_path / f"folder{suffix}").mkdir()
    for place in (
        tmp_path / f"folder{suffix}",
        tmp_path / "none" / f"x{suffix}",
        f"/proc/x{suffix}",
        tmp_path / ("x" * 300 + suffix),
    ):
        with pytest.raises(cs.FormatError) as refused:
            save(things[entry.holds], place, name, **options)
        assert str(refused.value).startswith(f"cannot write {str(place)!r}: ")
    assert [p.name for p in tmp_path.iterdir()] == [f"folder{suffix}"], "no temporary file stays"


def test_a_link_stays_a_link_and_capital_letters_zip_too(tmp_path):
    ring = cs.schedule("allreduce_ring", ranks=3)
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "link.json").symlink_to("a.json")
    save(ring, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    same(load(tmp_path / "a.json"), ring)
    save(ring, tmp_path / "A.JSON.GZ")
    assert (tmp_path / "A.JSON.GZ").read_bytes()[:2] == b"\x1f\x8b"
    same(load(tmp_path / "A.JSON.GZ"), ring)


def test_a_written_file_has_the_permissions_of_any_other(tmp_path):
    save(cs.schedule("allreduce_ring", ranks=2), tmp_path / "a.json")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


# ---- bad input
# --------------------------------------------------------------------------------------------------------------------

HEAD = (
    '{"format": "collsim-schedule", "version": 1, "name": "a", "collective": "allreduce", "ranks": 2, "chunks": 1, '
    '"steps": '
)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", HEAD + '[[[0,1,0,0,"reduce",0]]', "not JSON|truncated"),
        ("a.json", HEAD.replace("1,", "7,", 1) + "[]}", "version 7"),
        ("a.json", HEAD.replace('"ranks": 2', '"ranks": -2') + "[]}", "ranks=-2 is out of range"),
        ("a.json", HEAD.replace('"ranks": 2', '"ranks": 1e400') + "[]}", "too large for a number"),
        ("a.json", HEAD.replace('"ranks": 2', '"ranks": NaN') + "[]}", "NaN is not a number"),
        ("a.json", HEAD.replace('"ranks": 2', f'"ranks": {"9" * 5000}') + "[]}", "too large for a whole number"),
        ("a.json", HEAD.replace('"ranks": 2', '"ranks": true') + "[]}", "ranks=True is not a whole number"),
        ("a.json", HEAD.replace('"allreduce"', '"allredoose"') + "[]}", "did you mean 'allreduce'"),
        ("a.json", HEAD.replace('"allreduce"', '"allgather"') + "[]}", "chunks=1 is not a multiple of ranks=2"),
        ("a.json", HEAD + "[3]}", "step 1: expected rows of 6 values"),
        ("a.json", HEAD + '[[[0,1,0,0,"add",0]]]}', "step 1: op='add'"),
        ("a.json", HEAD + '[[[0,1,0,1.5,"copy",0]]]}', "step 1, row 1: into=1.5"),
        ("a.json", HEAD + '[[[0,7,0,0,"copy",0]]]}', "dst=7 does not exist"),
        ("a.json", HEAD + '[{"times": -1, "transfers": []}]}', "times=-1"),
        (
            "a.json",
            HEAD + '[{"times": 2000000000, "modulus": 1, "transfers": [[0,1,0,0,"copy",0]]},' * 1 + '{"modulus": 0}]}',
            "modulus|rows",
        ),
        ("a.json", HEAD + "[" * 100_000, "nested too deep"),
        ("a.json", HEAD + "[" + "[]," * 2_100_000, "more than 2,000,000 objects"),
        ("a.csv", "step,src,dst,chunk,into,op\n0,0,1,0,0\n", "line 2: 5 values; the header has 6"),
        ("a.csv", "step,src,dst,chunk,into,op\n0,0,1,0,0,add\n", "line 2: op='add'"),
        ("a.csv", "step,src,dst,chunk,into,op\n0,0,nan,0,0,copy\n", "line 2: dst='nan' is not a whole number"),
        ("a.csv", "step,src,dst,chunk,into,op\n0,0,1,-1,0,copy\n", "line 2: chunk=-1 is out of range"),
        ("a.csv", "step,src,dst,chunk,into,op\n1,0,1,0,0,copy\n", "line 2: the first step is 1"),
        ("a.csv", "step,src,dst,chunk,into,op\n0,0,1,0,0,copy\n2,0,1,0,0,copy\n", "line 3: step 2 after step 0"),
        ("a.csv", "step,src,dst,chunk\n0,0,1,0\n", "line 1: the header"),
        (
            "a.csv",
            '# {"collsim": 9, "collective": "allreduce"}\nstep,src,dst,chunk,into,op\n',
            "line 1: an unknown version",
        ),
        ("a.csv", '# {"collsim": 1,\nstep,src,dst,chunk,into,op\n', "line 1: expected"),
        ("a.xml", "<algo", "not well-formed"),
        ("a.xml", '<!DOCTYPE x [<!ENTITY a "aaaa">]><algo name="&a;"/>', "document type"),
        ("a.xml", '<algo ngpus="1" nchunksperloop="1" coll="allreduce">' + "<algo>" * 5000, "expected <gpu> here"),
        ("a.xml", "<algo>" * 5000, "no attribute 'ngpus'"),
        ("a.xml", '<algo ngpus="2" nchunksperloop="1" coll="allreduce"><gpu id="0"/>', "line 1: not well-formed"),
        (
            "a.json",
            '{"args": [], "results": [{"size": 8, "count": 2, "type": {"time": 20.5}}]}',
            "result 0: expected an object with size",
        ),
        ("a.json", HEAD + '[[[0,1,0,0,["copy"],0]]]}', "step 1: op="),
        ("a.json", HEAD.replace('"allreduce"', '["allreduce"]') + "[]}", "collective are texts"),
        ("a.json", HEAD.replace('"name"', '"helpers_on": {}, "name"') + "[]}", "helpers_on one of host, switch"),
        ("a.yaml", "[" * 200_000, "line 1: brackets nested more than 64 deep"),
        ("a.log", "host:1:1 [0] NCCL INFO Channel 00/01 :    0   1   3\n", "ring of channel 0: visits 3 of 4 ranks"),
        ("a.txt", "# nThread 1\n 1024 256 float sum -1 12.3 0.08\n", "line 2: 7 values; expected size, count"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(name, text, words, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    options = {"collective": "allreduce"} if name == "a.csv" and "#" not in text else {}
    with pytest.raises(cs.FormatError, match=words) as caught:
        load(path, **options)
    assert name in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.xml", "a.txt", "a.log", "a.yaml"])
def test_other_encodings_zeros_and_rubbish_are_refused(name, tmp_path):
    kind = {
        "a.json": "json",
        "a.csv": "csv",
        "a.xml": "msccl",
        "a.txt": "nccl-tests",
        "a.log": "nccl-log",
        "a.yaml": "topology-yaml",
    }[name]
    path = tmp_path / name
    for data in (
        b"",
        b"\0" * 100,
        "naïve".encode("utf-16"),
        b"abc\xff\xfe",
        os.urandom(1000),
        b"\x1f\x8b" + b"\0" * 50,
    ):
        path.write_bytes(data)
        with pytest.raises(cs.FormatError):
            load(path, format=kind)


def test_the_line_of_a_bad_byte_is_named(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"step,src\n0,0\n\xe9\n")
    with pytest.raises(cs.FormatError, match=r"a\.csv, line 3: byte 0xe9 is not UTF-8"):
        read_text(tmp_path / "a.csv")


def test_a_log_of_powershell_is_read_as_that_of_another_shell(tmp_path):
    from test_nccl_tests import TEXT

    for encoding in ("utf-8", "utf-16"):
        (tmp_path / f"{encoding}.txt").write_text(TEXT, encoding=encoding)
    assert load(tmp_path / "utf-16.txt").equals(load(tmp_path / "utf-8.txt"))


def test_a_zip_bomb_is_refused_before_it_unfolds(tmp_path):
    with gzip.open(tmp_path / "a.json.gz", "wb") as file:
        for _ in range(80):
            file.write(b" " * 2**20)
    with pytest.raises(cs.FormatError, match="larger than 64 MiB"):
        read_json(tmp_path / "a.json.gz")


def test_a_file_of_100_megabytes_is_refused(tmp_path):
    with open(tmp_path / "a.xml", "wb") as file:
        file.write(b"<algo ")
        file.truncate(100_000_000)
    with pytest.raises(cs.FormatError, match="larger than 64 MiB"):
        load(tmp_path / "a.xml")


def test_millions_of_elements_are_refused_while_they_come(tmp_path):
    gpu = '<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="-1" chan="0">'
    step = (
        '<step s="{}" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="2097153" depid="-1" deps="-1" '
        'hasdep="0"/>'
    )
    path = tmp_path / "a.xml"
    path.write_text('<algo ngpus="1" nchunksperloop="1" coll="allreduce">' + gpu + "".join(map(step.format, range(3))))
    with pytest.raises(cs.FormatError, match="step 0: cnt=2097153 is out of range"):
        load(path)
    path.write_text(
        '<algo ngpus="1" nchunksperloop="1" coll="allreduce">'
        + gpu
        + "".join(step.replace("2097153", "1000000").format(k) for k in range(3))
    )
    with pytest.raises(cs.FormatError, match="step 2: more than 2,000,000 chunks"):
        load(path)


def test_a_long_message_is_short(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("step,src,dst,chunk,into,op\n0,0,1,0,0," + "x" * 100_000 + "\n")
    with pytest.raises(cs.FormatError) as caught:
        load(path, collective="allreduce")
    assert len(str(caught.value)) < 200


# ---- rubbish of all kinds
# -------------------------------------------------------------------------------------------------------------


def samples():
    """A small good file of every format that is read, as (format, suffix, bytes, options)."""
    from test_msccl_tools import CASES
    from test_nccl_log import LOG
    from test_nccl_tests import JSON, TEXT
    from test_osu import FULL
    from test_teccl import ALLGATHER, ALLTOALL
    from tool_outputs import IMB, write_profiler_trace

    ring = HEAD.replace('"chunks": 1', '"chunks": 1, "slots": 2')
    algo = (
        '<algo name="a" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="0" '
        'outofplace="1">'
        '<gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1"><tb id="0" send="1" recv="1" chan="0">'
        '<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>'
        '<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" '
        'hasdep="0"/></tb></gpu>'
        '<gpu id="1" i_chunks="2" o_chunks="2" s_chunks="1"><tb id="0" send="0" recv="0" chan="0">'
        '<step s="0" type="rrcs" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="1" deps="0" '
        'hasdep="0"/></tb>'
        '<tb id="1" send="-1" recv="-1" chan="0">'
        '<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" '
        'hasdep="1"/></tb></gpu></algo>'
    )
    return {
        "json": (
            ring + '[[[0,1,0,0,"reduce",0]],{"times":2,"shift":0,"modulus":1,"transfers":[[1,0,0,0,"copy",0]]}]}',
            {},
        ),
        "nccl-graphs": (
            '<graphs version="1"><graph id="0" pattern="4" nchannels="1" speedintra="12"><channel><gpu dev="0"/>'
            '<gpu dev="1"/></channel></graph><graph id="1" pattern="1" nchannels="1"><channel><gpu dev="1"/>'
            '<gpu dev="0"/></channel></graph></graphs>',
            {},
        ),
        "csv": (
            "step,src,dst,chunk,into,op,channel\n0,0,1,0,,reduce,0\n1,1,0,0,0,copy,1\n",
            {"collective": "allreduce"},
        ),
        "msccl": (algo, {}),
        "teccl": (json.dumps(ALLGATHER), {}),
        "teccl (alltoall)": (json.dumps(ALLTOALL), {}),
        "msccl-tools": (json.dumps(CASES["allreduce"][0]), {}),
        "msccl-tools (alltoall)": (json.dumps(CASES["alltoall"][0]), {}),
        "osu": (FULL, {}),
        "osu (IMB)": (IMB, {}),
        "torch-profiler": (write_profiler_trace(calls=2), {}),
        "nccl-tests": (TEXT, {}),
        "nccl-tests-json": (json.dumps(JSON), {}),
        "nccl-log": (LOG, {}),
    }


@st.composite
def damaged(draw, data):
    """A file with a few pieces cut out, repeated, swapped or overwritten by numbers and signs that hurt."""
    data = bytearray(data.encode())
    for _ in range(draw(st.integers(1, 4))):
        a, b = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        piece = draw(
            st.sampled_from(
                [
                    b"",
                    b"-1",
                    b"0",
                    b"99999999999999999999",
                    b"1e999",
                    b"nan",
                    b"\xff",
                    b"<",
                    b'"',
                    b"{",
                    b"\n",
                    bytes(data[a:b]),
                ]
            )
        )
        how = draw(st.sampled_from(["cut", "insert", "number", "end"]))
        if how == "cut":
            del data[a : min(b, a + draw(st.integers(1, 60)))]
        elif how == "insert":
            data[a:a] = piece
        elif how == "end":
            del data[b:]
        else:
            digits = [k for k, c in enumerate(data) if 48 <= c <= 57]
            if digits:
                at = digits[a % len(digits)]
                data[at : at + 1] = piece or b"7"
    return bytes(data)


def test_there_is_a_sample_of_every_format_that_is_read():
    read = {name for name, entry in formats().items() if entry.read and entry.holds != "topology"}
    assert {kind.split()[0] for kind in samples()} == read, "topologies are fuzzed beside their readers"


@pytest.mark.parametrize("sample", samples())
def test_a_damaged_file_is_read_or_refused_but_never_a_crash(sample, tmp_path_factory):
    (text, options), kind = samples()[sample], sample.split()[0]
    path = tmp_path_factory.mktemp("bad") / "file"
    path.write_text(text)
    load(path, format=kind, **options)

    @given(damaged(text))
    @settings(max_examples=150, deadline=None)
    def attempt(data):
        path.write_bytes(data)
        try:
            found = load(path, format=kind, **options)
        except cs.FormatError:
            return
        if kind == "msccl":
            cs.verify(found)

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attempt()


def test_a_schedule_with_helpers_keeps_what_they_are(tmp_path):
    schedule = replace(cs.schedule("allreduce_nvls", ranks=4))
    assert schedule.endpoints == 5
    save(schedule, tmp_path / "a.json")
    assert load(tmp_path / "a.json").helpers_on == schedule.helpers_on == "nvswitch"


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_formats", DOCS / "make_formats.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(("language", "page"), [(0, "formats.md"), (1, "formats.zh.md")])
def test_the_documentation_names_every_format_and_is_current(maker, language, page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == maker.page(language), "run: make docs"
    for name, entry in formats().items():
        assert f"`{name}`" in text, name
        assert all(f"`{s}`" in text for s in entry.suffixes[:1]), entry.suffixes


def test_a_format_without_chinese_words_is_on_the_chinese_page_with_its_english_ones(maker):
    mine = Format("mine", (".mine",), "table", "mine, *.mine", print)
    assert maker.row(mine, 1) == "| `mine` | `.mine` | 表 | ✓ |  | mine, \\*.mine |  |"
    assert maker.row(replace(mine, chinese="我的"), 1) == "| `mine` | `.mine` | 表 | ✓ |  | 我的 |  |"
    assert maker.row(replace(mine, chinese="我的"), 0) == "| `mine` | `.mine` | table | ✓ |  | mine, \\*.mine |  |"


def stumbles(head):
    """The `looks` of somebody else's format."""
    raise RuntimeError("no\nidea")


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.mine", "a"])
def test_a_foreign_format_that_cannot_tell_its_files_is_passed_over_with_a_warning(name, tmp_path, monkeypatch):
    monkeypatch.setitem(_FORMATS, "mine", Format("mine", (".json", ".csv"), "table", "mine", print, None, stumbles))
    said = f"the format 'mine' \\({__name__}\\) fails at .* is passed over: RuntimeError: no idea"
    ring = cs.schedule("allreduce_ring", ranks=4)
    kept = tmp_path / ("b.csv" if name == "a.csv" else "b.json")
    save(ring, kept)
    (tmp_path / name).write_bytes(kept.read_bytes())
    with pytest.warns(UserWarning, match=said):
        same(load(tmp_path / name), ring)


def test_a_foreign_format_alone_with_its_suffix_still_reads_its_files(tmp_path, monkeypatch):
    entry = Format("mine", (".mine",), "table", "mine", lambda path: 3, None, stumbles)
    monkeypatch.setitem(_FORMATS, "mine", entry)
    (tmp_path / "a.mine").write_text("3")
    with pytest.warns(UserWarning, match="'mine'"):
        assert load(tmp_path / "a.mine") == 3
