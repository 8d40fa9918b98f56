"""The search over splits: on any executor, and goes on where it was killed."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import collsim as cs
from collsim.sweep import split_sweep

BOX = cs.machine("dgx-a100", nodes=1)
GPT = cs.train.transformer(1024, 4, 16, seq=512)
ASKED = {"batch": 16, "top": 2, "every": True}


def figures(frame):
    return frame.drop(columns="split")


def test_an_executor_gives_the_table_that_this_process_gives():
    with ThreadPoolExecutor(2) as pool:
        there = cs.best_parallel(GPT, BOX, executor=pool, **ASKED)
    pd.testing.assert_frame_equal(figures(there), figures(cs.best_parallel(GPT, BOX, **ASKED)))


def test_a_search_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = cs.best_parallel(GPT, BOX, **ASKED)
    monkeypatch.setattr(split_sweep, "_PIECE", 10)
    asked, true = [], split_sweep._estimate_candidates

    def counted(request, listed):
        if len(asked) == 30:
            raise KeyboardInterrupt
        asked.extend(listed)
        return true(request, listed)

    monkeypatch.setattr(split_sweep, "_estimate_candidates", counted)
    place = tmp_path / "all.csv"
    with pytest.raises(KeyboardInterrupt):
        cs.best_parallel(GPT, BOX, out=place, **ASKED)
    assert not place.exists()
    monkeypatch.setattr(
        split_sweep, "_estimate_candidates", lambda request, listed: asked.extend(listed) or true(request, listed)
    )
    again = cs.best_parallel(GPT, BOX, out=place, **ASKED)
    assert len(asked) == len(whole), "each split was estimated once"
    pd.testing.assert_frame_equal(figures(again), figures(whole))
    assert len(pd.read_csv(place)) == len(whole)


def test_another_batch_is_another_search(tmp_path):
    place = tmp_path / "x.sqlite"
    cs.best_parallel(GPT, BOX, out=place, **ASKED)
    other = cs.best_parallel(GPT, BOX, out=place, **ASKED | {"batch": 32})
    pd.testing.assert_frame_equal(figures(other), figures(cs.best_parallel(GPT, BOX, **ASKED | {"batch": 32})))


def test_the_way_of_data_parallelism_and_its_seconds_are_two_columns():
    frame = cs.best_parallel(GPT, BOX, **ASKED)
    assert set(frame.data_parallel.str.split("(").str[0]) <= {"ddp", "zero", "fsdp", ""}
    assert frame.data.dtype.kind == "f"


def test_what_has_no_submit_is_no_executor():
    with pytest.raises(cs.CollsimError, match="has no submit"):
        cs.best_parallel(GPT, BOX, executor=3, **ASKED)


@pytest.mark.parametrize("row", ["{}", '{"time": "x"}', '{"time": NaN, "memory": 1}', "[1]", "null"])
def test_a_store_whose_figures_are_none_is_damaged(row, tmp_path):
    place = tmp_path / "all.sqlite"
    cs.best_parallel(GPT, BOX, batch=8, top=2, out=place)
    with contextlib.closing(sqlite3.connect(place)) as db:
        db.execute("UPDATE rows SET row = ?", (row,))
        db.commit()
    with pytest.raises(cs.FormatError, match="is not a store of results, or damaged"):
        cs.best_parallel(GPT, BOX, batch=8, top=2, out=place)


def test_what_cannot_be_added_to_a_store_is_a_sentence(tmp_path):
    place = tmp_path / "all.sqlite"
    cs.best_parallel(GPT, BOX, batch=8, top=2, out=place)
    with contextlib.closing(sqlite3.connect(place)) as db:
        db.execute("CREATE TRIGGER never BEFORE INSERT ON rows BEGIN SELECT RAISE(ABORT, 'never'); END")
        db.commit()
    with pytest.raises(cs.FormatError, match="never"):
        cs.best_parallel(GPT, BOX, batch=16, top=2, out=place)
