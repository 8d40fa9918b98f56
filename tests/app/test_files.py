"""Files of a run, out and in: every format that the registry offers, and every mistake in one sentence."""

import gzip
import io
import random
import zipfile
from dataclasses import replace

import pytest
from openers import OPEN, check_content
from streamlit.testing.v1 import AppTest
from test_pages import explore, fine, opened, players, unfolded

from collsim.app.pages.explore import chunk_search
from collsim.app.scenario import run_files
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.outcome import simulate
from collsim.app.scenario.run_files import Upload
from collsim.app.shell import filebox, results
from collsim.app.texts import say
from collsim.errors import CollsimError
from collsim.io import formats
from collsim.locale import LANGUAGES
from collsim.units import format_time

CHOICE = Choice(machine="switch", ranks=4, nbytes="1MiB", sizes="1KiB:1MiB:32")


def test_every_format_that_can_be_written_is_offered():
    names = {f.name for f in run_files.list_formats()} | {"mp4"}
    assert names == {f.name for f in formats().values() if f.write is not None}


@pytest.mark.parametrize("name", [f.name for f in run_files.list_formats() if f.name != "mp4"])
def test_every_format_is_made_and_opened_by_something_that_knows_it(name, tmp_path):
    title, data = run_files.build_file(CHOICE, name, "zh")
    assert title.endswith((*formats()[name].suffixes, ".zip"))
    (path := tmp_path / title).write_bytes(data)
    OPEN.get(name, check_content)(path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_ffmpeg_the_page_says_so_and_gif_is_there(monkeypatch, language):
    monkeypatch.setattr(run_files, "has_ffmpeg", lambda: False)
    at = fine(opened(explore, network="switch", ranks="4", nbytes="1MiB", lang=language))
    fine(unfolded(at, "tables", "tab.files"))
    assert not any("(.mp4)" in option for option in at.selectbox(key="w_format").options)
    assert any("(.gif)" in option for option in at.selectbox(key="w_format").options)
    assert sum(say(language, "files.nofilm") in e.proto.body for e in at.get("html")) == 1


def test_a_large_text_is_handed_over_zipped():
    name, data = run_files._compress_large("a.trace.json", b'{"ph": "X"}' * 500_000)
    assert name == "a.trace.json.gz"
    assert gzip.decompress(data) == b'{"ph": "X"}' * 500_000
    film = random.Random(0).randbytes(5 * 2**20)
    assert run_files._compress_large("a.mp4", film) == ("a.mp4", film)
    assert run_files._compress_large("a.csv", b"a,b") == ("a.csv", b"a,b")


def test_a_file_of_many_transfers_is_left_to_a_worker():
    large = Choice(machine="switch", ranks=256)
    assert run_files.estimate_file(large, "chrome-trace", "en") > 2
    assert run_files.estimate_file(CHOICE, "chrome-trace", "en") < 0.5


def test_the_page_of_a_run_says_what_the_run_says():
    assert simulate(CHOICE).schedule.label.split("(")[0] in run_files.build_file(CHOICE, "html", "en")[1].decode()


RACE = (("ring", CHOICE), ("tree", replace(CHOICE, algorithm="allreduce_double_binary_tree")))


@pytest.mark.parametrize("name", [f.name for f in run_files.list_table_formats()])
def test_a_race_and_a_comparison_are_written_as_tables(name):
    for title, data in (run_files.build_race_table(RACE, name), run_files.build_comparison_table(CHOICE, name)):
        assert title.endswith((formats()[name].suffixes[0], ".zip"))
        if title.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                assert len(packed.namelist()) > 1
                assert all(b'"results"' in packed.read(one) for one in packed.namelist())
    text = run_files.build_race_table(RACE, "markdown")[1].decode()
    assert format_time(simulate(CHOICE).time) in text
    assert "| tree |" in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ["race", "compare"])
def test_a_race_and_a_comparison_hand_over_files(page, language):
    at = AppTest.from_string(f"from collsim.app.main import main\nmain(first={page!r})", default_timeout=60)
    at.query_params.update(
        {"lang": language}
        | ({"sizes": "1KiB:1MiB:1024", "network": "switch", "ranks": "4"} if page == "compare" else {})
    )
    fine(at.run())
    fine(unfolded(at, "files"))
    if page == "race":
        fine(at.selectbox(key="w_f_of").select_index(3).run())
    fine(at.selectbox(key="w_format").set_value("latex").run())
    assert not [b for b in at.get("download_button") if b.proto.id.endswith("files_take")]
    fine(at.button(key="files_make").click().run())
    assert len([b for b in at.get("download_button") if b.proto.id.endswith("files_take")]) == 1


def test_a_film_of_a_runner_is_work_with_a_bar(monkeypatch):
    asked = []
    monkeypatch.setattr(filebox, "get_exact", lambda function, *arguments, **_: asked.append((function, arguments)))
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='race')", default_timeout=60)
    fine(at.run())
    fine(unfolded(at, "files"))
    fine(at.selectbox(key="w_f_of").select_index(1).run())
    fine(at.selectbox(key="w_format").set_value("gif").run())
    fine(at.button(key="files_make").click().run())
    ((function, arguments),) = asked
    assert (function, arguments[0].algorithm, arguments[1]) == (
        run_files.build_file,
        "allreduce_double_binary_tree",
        "gif",
    )


def test_many_files_come_as_one_zip():
    title, data = run_files.build_file(CHOICE, "chakra", "en")
    assert title.endswith(".zip")
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == CHOICE.ranks


@pytest.mark.parametrize("name", ["msccl", "json", "csv"])
def test_a_schedule_comes_back_and_takes_as_long(name):
    title, data = run_files.build_file(CHOICE, name, "en")
    shown, _, wrong = run_files.play_upload(Upload(title, data), CHOICE)
    assert wrong == ""
    assert shown.figures.time == pytest.approx(simulate(CHOICE).time, rel=1e-9)
    assert shown.timeline is not None


def test_a_schedule_that_is_wrong_is_played_and_its_place_is_named():
    lines = run_files.build_file(CHOICE, "csv", "en")[1].decode().splitlines()
    shown, _, wrong = run_files.play_upload(Upload("short.csv", "\n".join(lines[:-1]).encode()), CHOICE)
    assert "rank" in str(wrong)
    assert "chunk" in str(wrong)
    assert shown.timeline is not None


def test_a_program_that_is_wrong_is_refused_with_gpu_thread_block_and_step():
    lines = run_files.build_file(CHOICE, "msccl", "en")[1].splitlines()
    last = max(i for i, line in enumerate(lines) if b'type="r"' in line or b'type="rcs"' in line)
    with pytest.raises(CollsimError, match=r"gpu \d.*thread block \d"):
        run_files.read_schedule(Upload("wrong.xml", b"\n".join(lines[:last] + lines[last + 1 :])))


HOSTILE = {
    "empty.json": b"",
    "code.py": b"raise SystemExit",
    "../../etc/passwd": b"root",
    "x.xml": b"<!DOCTYPE a [<!ENTITY b 'x'>]><algo>&b;</algo>",
    "deep.json": b"[" * 100_000,
    "table.txt": b"hello",
    "large.csv": b"0" * (run_files.MAX_BYTES + 1),
    "zeros.xml": bytes(1000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence(name):
    with pytest.raises(CollsimError) as refused:
        run_files.read_schedule(Upload(name, HOSTILE[name]))
    assert len(str(refused.value)) < 600
    assert "\n" not in str(refused.value)


def test_a_file_is_made_only_when_it_is_asked_for(monkeypatch):
    at = fine(opened(explore, network="switch", ranks="4", nbytes="1MiB"))
    assert not at.get("download_button") or "collsim.json" not in str(at.get("download_button"))
    assert not [one for one in at.selectbox if one.key == "w_format"]  # its tab is closed
    fine(unfolded(at, "tables", "tab.files"))
    assert not [one for one in at.toggle if one.key == "w_idle"]  # the first one's is now
    at.selectbox(key="w_format").set_value("json")
    fine(at.run())
    fine(at.button(key="files_make").click().run())
    assert any("collsim.json" in e.proto.label for e in at.get("download_button"))


def from_file() -> None:
    """AppTest cannot upload; the file is put where the uploader puts it."""
    import streamlit as st

    from collsim.app.main import main
    from collsim.app.scenario.run_files import Upload

    if held := st.session_state.pop("held", None):
        st.session_state["upload"] = Upload(*held)
    main()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_uploaded_schedule_is_played_on_explore_and_given_up(language):
    at = AppTest.from_function(from_file, default_timeout=60)
    at.query_params["lang"] = language
    at.query_params["network"], at.query_params["ranks"] = "switch", "4"
    at.session_state["held"] = run_files.build_file(CHOICE, "msccl", "en")
    fine(at.run())
    assert players(at)
    assert "w_algorithm" not in at.session_state
    fine(unfolded(at, "tables", "tab.files"))
    at.selectbox(key="w_format").set_value("csv").run()
    fine(at.button(key="files_make").click().run())
    assert any("collsim.csv" in e.proto.label for e in at.get("download_button"))
    fine(at.button(key="files_drop").click().run())
    assert "w_algorithm" in at.session_state


def test_under_a_bar_the_last_file_keeps_its_name_and_its_run(slow, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    at = AppTest.from_function(from_file, default_timeout=60)
    at.query_params["network"], at.query_params["ranks"] = "switch", "4"
    at.session_state["held"] = run_files.build_file(CHOICE, "msccl", "en")
    fine(at.run())
    before, said = players(at)[0].proto.json, [e.proto.body for e in at.get("html") if "collsim.xml" in e.proto.body]
    monkeypatch.setattr(results, "ON_THE_SPOT", -1.0)
    _, data = run_files.build_file(CHOICE, "json", "en")
    at.session_state["held"] = "another.json", data
    at.run()
    assert slow._jobs
    assert players(at)[0].proto.json == before
    assert [e.proto.body for e in at.get("html") if "collsim.xml" in e.proto.body] == said != []


def test_a_schedule_that_needs_more_ranks_than_there_are_goes_to_a_switch():
    assert run_files.place_choice(CHOICE, 3) == CHOICE
    assert run_files.place_choice(CHOICE, 9) == Choice(**{**CHOICE.__dict__, "ranks": 9})


def test_the_best_number_of_chunks_is_the_one_that_is_the_fastest():
    choice = Choice(algorithm="allreduce_tree", machine="switch", ranks=8, nbytes="64MiB")
    table = chunk_search.search_chunks(choice)
    best = int(table.loc[table["time"].idxmin()]["chunks"])
    assert best > 1
    by_hand = {
        c: simulate(Choice(**{**choice.__dict__, "options": (("chunks", c),)})).time for c in (1, best, 2 * best, 1024)
    }
    assert min(by_hand, key=by_hand.get) == best


def test_the_chunks_tab_draws_when_it_is_asked(tmp_path):
    at = fine(opened(explore, network="switch", ranks="4", nbytes="1MiB", algorithm="allreduce_tree"))
    fine(unfolded(at, "tables", "tab.chunks"))
    before = len(at.get("arrow_vega_lite_chart")) + len(at.get("vega_lite_chart"))
    fine(at.button(key="chunks_find").click().run())
    assert len(at.get("arrow_vega_lite_chart")) + len(at.get("vega_lite_chart")) == before + 1


@pytest.mark.parametrize("name", ["notes.json", "hand-in.xml", "table.csv"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_names_the_file_as_its_owner_does(name, language):
    with pytest.raises(CollsimError) as refused:
        run_files.read_schedule(Upload(name, b'<algo name="x"></algo>'))
    assert refused.value.text(language).startswith(name)
