"""Hand-ins in a zip: graded as they are exported, and whoever made the zip, it costs little and ends in a sentence."""

import contextlib
import os
import stat
import struct
import sys
import tracemalloc
import zipfile

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.teach.exercises import archive
from collsim.teach.exercises.submissions import list_submissions

RIGHT = (
    "import numpy as np\nimport collsim as cs\n\ndef broadcast_to_all(n):\n    yield cs.copy(0, np.arange(1, n), 0)\n"
)


def packed(path, *entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as made:
        for name, text in entries:
            made.writestr(name, text)
    return path


def handed(path):
    return {one.student: [file.name for file in one.files] for one in list_submissions(path)}


@pytest.mark.parametrize(
    ("names", "students"),
    [
        (
            [
                "Anna Berg_4711_assignsubmission_file_/ring.py",
                "Anna Berg_4711_assignsubmission_file_/more/tree.ipynb",
                "Anna Berg_4711_assignsubmission_onlinetext_/onlinetext.html",
                "Bo 李_4712_assignsubmission_file/ring.py",
            ],
            {"Anna Berg_4711": ["tree.ipynb", "ring.py"], "Bo 李_4712": ["ring.py"]},
        ),
        (
            ["Anna Berg_4711_assignsubmission_file_ring.py", "Anna Berg_4711_assignsubmission_file_tree.py"],
            {
                "Anna Berg_4711": [
                    "Anna Berg_4711_assignsubmission_file_ring.py",
                    "Anna Berg_4711_assignsubmission_file_tree.py",
                ]
            },
        ),
        (
            ["berganna_4711_90210_ring.py", "berganna_4711_90211_tree-1.py", "dietzbo_LATE_4712_90212_ring.py"],
            {
                "berganna_4711": ["berganna_4711_90210_ring.py", "berganna_4711_90211_tree-1.py"],
                "dietzbo_4712": ["dietzbo_LATE_4712_90212_ring.py"],
            },
        ),
        (["anna/ring.py", "anna/notes.pdf", "bo.py"], {"anna": ["ring.py"], "bo": ["bo.py"]}),
        (
            ["homework/anna/ring.py", "homework/bo.py", "homework/.DS_Store", "__MACOSX/homework/._bo.py"],
            {"anna": ["ring.py"], "bo": ["bo.py"]},
        ),
        (["anna\\ring.py", "bo/notes.pdf"], {"anna": ["ring.py"], "bo": []}),
    ],
)
def test_every_student_is_found_as_platforms_and_file_managers_pack_them(tmp_path, names, students):
    assert handed(packed(tmp_path / "homework.zip", *((name, RIGHT) for name in names))) == students


def test_a_zip_and_the_folder_that_it_was_packed_from_are_the_same(tmp_path):
    (tmp_path / "in" / "anna" / "deep").mkdir(parents=True)
    for name in ("anna/ring.py", "anna/deep/tree.py", "anna/notes.txt", "bo.py", ".hidden.py"):
        (tmp_path / "in" / name).write_text(RIGHT + f"# {name}")
    names = ("anna/deep/tree.py", "anna/ring.py", "anna/notes.txt", "bo.py", ".hidden.py")
    zipped = packed(tmp_path / "in.ZIP", *((name, RIGHT + f"# {name}") for name in names))
    assert list_submissions(zipped) == list_submissions(tmp_path / "in")


def test_the_command_grades_a_zip_and_leaves_nothing_behind(tmp_path):
    zipped = packed(tmp_path / "homework.zip", ("anna.py", RIGHT), ("bo.py", RIGHT.replace("np.arange(1, n)", "1")))
    done = CliRunner().invoke(app, ["grade", str(zipped), "--no-progress", "--no-sandbox", "--json"])
    assert done.exit_code == 0, done.output
    assert '"student": "anna", "exercise": "broadcast-to-all", "passed": true' in done.stdout
    assert '"student": "bo", "exercise": "broadcast-to-all", "passed": false' in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["homework.zip"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are no text")
def test_a_file_in_a_folder_whose_name_is_no_text_costs_nobody_a_result(tmp_path):
    (tmp_path / "anna").mkdir()
    for name in (b"anna/\xff\x1b.py", b"b\xff.py", b"cleo.py"):
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write(RIGHT)
    frame = cs.grade(tmp_path, only=["broadcast-to-all"], allow_unsandboxed=True)
    assert frame.passed.tolist() == [True] * 3
    assert frame.student.tolist() == ["anna", "b\N{REPLACEMENT CHARACTER}", "cleo"]


# ---- hostile and broken ones


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../anna.py", "'../anna.py': a name that leads out of the zip; pack it again"),
        ("anna/../../bo.py", "leads out of the zip"),
        ("/etc/anna.py", "leads out of the zip"),
        ("C:\\anna.py", "leads out of the zip"),
        ("..\\anna.py", "leads out of the zip"),
        ("anna//bo.py", "leads out of the zip"),
        ("anna\x1b[2J.py", r"'anna\\x1b\[2J.py': control characters in a name"),
        ("anna\n.py", "control characters"),
        ("anna\N{RIGHT-TO-LEFT OVERRIDE}yp.py", "control characters"),
    ],
)
def test_a_name_that_leads_out_of_the_archive_or_hides_something_is_refused(tmp_path, name, says):
    with pytest.raises(cs.FormatError, match=says) as caught:
        list_submissions(packed(tmp_path / "homework.zip", ("bo.py", RIGHT), (name, RIGHT)))
    assert str(caught.value).startswith("homework.zip, entry ")


def test_what_is_no_zip_is_said(tmp_path):
    whole = packed(tmp_path / "homework.zip", ("anna.py", RIGHT)).read_bytes()
    for data in (b"", b"PK", RIGHT.encode(), whole[:-10], whole[: len(whole) // 2], b"PK\5\6" + b"\xff" * 18):
        (tmp_path / "homework.zip").write_bytes(data)
        with pytest.raises(cs.FormatError, match=r"homework.zip: (it is no zip that can be read|more files)"):
            list_submissions(tmp_path / "homework.zip")


def test_a_zip_that_is_damaged_anywhere_is_a_sentence_or_a_problem_of_a_student(tmp_path):
    whole = packed(tmp_path / "homework.zip", ("anna.py", RIGHT), ("bo.py", RIGHT)).read_bytes()
    for at in range(len(whole)):
        for value in (0, 0xFF, whole[at] ^ 0x41):
            (tmp_path / "homework.zip").write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            with contextlib.suppress(cs.CollsimError):
                found = list_submissions(tmp_path / "homework.zip")
                assert all(file.data == RIGHT.encode() for one in found for file in one.files)


def test_a_million_entries_cost_nothing(tmp_path):
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", *[20, 3, 20, 0], *[0] * 4, 0, 0, 0, 4, *[0] * 4, 0, 0) + b"a.py"
    listed = entry * 10**6
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFE, 0xFFFE, len(listed), 0, 0)
    (tmp_path / "homework.zip").write_bytes(listed + end)
    del listed
    tracemalloc.start()
    with pytest.raises(cs.FormatError, match="more files and folders than a class hands in"):
        list_submissions(tmp_path / "homework.zip")
    assert tracemalloc.get_traced_memory()[1] < 3 * archive._MAX_LISTED
    tracemalloc.stop()


def test_a_bomb_is_refused_before_anything_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_UNPACKED", 4 * 2**20)
    monkeypatch.setattr(archive, "_read_data", lambda *given: pytest.fail("unpacked"))
    bomb = packed(tmp_path / "homework.zip", *((f"student{number}.py", bytes(1_900_000)) for number in range(3)))
    assert bomb.stat().st_size < 10_000
    with pytest.raises(cs.FormatError, match=r"it unpacks to more than 4.MiB; pack fewer students into one zip"):
        list_submissions(bomb)


def test_a_large_file_costs_its_student_alone(tmp_path):
    anna, bo = list_submissions(packed(tmp_path / "homework.zip", ("anna.py", bytes(2_000_001)), ("bo.py", RIGHT)))
    assert anna.problem == "anna.py: it is larger than 2,000,000 bytes"
    assert (bo.problem, len(bo.files)) == ("", 1)


def test_a_file_that_says_it_is_small_is_read_no_further(tmp_path):
    data = bytearray(packed(tmp_path / "homework.zip", ("anna.py", bytes(50_000_000))).read_bytes())
    for sign, at in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        struct.pack_into("<L", data, data.index(sign) + at, 5)
    (tmp_path / "homework.zip").write_bytes(data)
    (anna,) = list_submissions(tmp_path / "homework.zip")
    assert not anna.files
    assert "it cannot be unpacked" in anna.problem


def test_links_passwords_and_other_ways_of_packing_are_named(tmp_path):
    link = zipfile.ZipInfo("anna.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = packed(tmp_path / "homework.zip", (link, "/etc/passwd"), ("bo.py", RIGHT))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as made:
        made.writestr("cleo.py", RIGHT)
    data = bytearray(path.read_bytes())
    for sign, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        first = data.index(sign, data.index(sign) + 1)  # those of bo.py
        data[first + at] |= 1
    path.write_bytes(data)
    assert {one.student: one.problem for one in list_submissions(path)} == {
        "anna": "anna.py: it is a link or no file at all; hand in the file itself",
        "bo": "bo.py: it is encrypted; pack it without a password",
        "cleo": "cleo.py: it is packed by method 14; pack it by Deflate",
    }


def test_a_student_with_thousands_of_files_or_of_folders_is_told(tmp_path):
    many = [(f"anna/{number}.txt", "") for number in range(2_001)]
    deep = [("bo/" + "d/" * 9 + "x.py", RIGHT), *((f"cleo/{number:02}.py", RIGHT) for number in range(41))]
    anna, bo, cleo = list_submissions(packed(tmp_path / "homework.zip", *many, *deep))
    assert "more than 2,000 files and folders" in anna.problem
    assert "more than 8 deep" in bo.problem
    assert len(cleo.files) == 40
    assert "more than 40 files" in cleo.problem


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (5, "path=5 is not a path"),
        ("a\0b", "zero byte"),
        ("nowhere.zip", "no folder or .zip 'nowhere.zip' with submissions"),
        ("", "nothing in|no folder"),
    ],
)
def test_what_is_no_place_is_a_sentence(tmp_path, monkeypatch, place, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cs.CollsimError, match=says):
        list_submissions(place)


def test_an_empty_zip_has_nothing_to_grade(tmp_path):
    with pytest.raises(cs.CollsimError, match=r"nothing in .*homework\.zip' to grade"):
        list_submissions(packed(tmp_path / "homework.zip", ("notes.pdf", "")))
