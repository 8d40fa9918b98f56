"""Everything that once broke is read, run or opened, or refused, quickly; and a minute of new cases."""

import json
import time
from pathlib import Path

import fuzz_addresses
import fuzz_mutants
import fuzz_scenarios
import pytest
import watch
from fuzz_readers import BROKE, SLOW, attempt, kinds, seeds

KEPT = sorted(path.name for path in BROKE.iterdir()) if BROKE.exists() else []
#: Mutants, addresses and scenarios that are drawn: each time a fifth, in `make check-all` all.
MUTANTS, ADDRESSES, SCENARIOS = 1500, 250, 160
some_or_all = pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
#: Scenarios below the bound of today, which is too high for uneven small sizes: to be emptied with the next bound.
BELOW_THE_BOUND: set[int] = set()


def kept(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize("name", KEPT)
def test_what_once_broke_a_reader_no_longer_does(name):
    kind = max((k for k in (*kinds(), *fuzz_mutants.MORE) if name.startswith(k + "-")), key=len)
    begin = time.process_time()
    found = watch.outcome(fuzz_mutants.attempt, (kind, (BROKE / name).read_bytes()))
    assert not found.startswith("BROKE"), found
    assert time.process_time() - begin < SLOW


@pytest.mark.parametrize("kind", kinds())
def test_every_reader_has_good_files_to_begin_with(kind, tmp_path: Path):
    for i, text in enumerate(seeds(kind)):
        (tmp_path / str(i)).write_text(text)
        attempt(kind, tmp_path / str(i))
    assert seeds(kind)


@pytest.mark.parametrize("line", kept(fuzz_scenarios.KEPT), ids=lambda line: str(line["seed"]))
def test_what_once_broke_a_law_no_longer_does(line):
    fuzz_scenarios.warm()
    fuzz_scenarios.attempt(line["case"])


@pytest.mark.parametrize("line", kept(fuzz_addresses.KEPT), ids=lambda line: str(line["seed"]))
def test_what_once_broke_a_page_no_longer_does(line):
    page, query = line["case"]
    with watch.watched():
        fuzz_addresses._read(query)
    fuzz_addresses._open(page, query)


def broken(make, attempt, cases):
    """Seeds that break, with what they break by."""
    found = {seed: watch.outcome(attempt, make(seed)) for seed in cases}
    return {seed: why for seed, why in found.items() if why.startswith("BROKE")}


@some_or_all
def test_no_law_breaks_in_new_scenarios(part):
    fuzz_scenarios.warm()
    drawn = set(range(SCENARIOS // part)) - BELOW_THE_BOUND
    assert broken(fuzz_scenarios.scenario, fuzz_scenarios.attempt, drawn) == {}


@some_or_all
def test_no_new_file_breaks_a_reader(part):
    assert broken(fuzz_mutants.mutant, fuzz_mutants.attempt, range(MUTANTS // part)) == {}


@some_or_all
def test_no_new_address_breaks_what_reads_it(part):
    assert broken(fuzz_addresses.address, lambda case: fuzz_addresses._read(case[1]), range(ADDRESSES // part)) == {}


def test_a_case_that_hangs_or_raises_is_told_from_one_that_is_refused(monkeypatch):
    import collsim as cs

    def hang(case):
        while True:
            pass

    def refuse(case):
        raise cs.CollsimError("no")

    monkeypatch.setattr(watch, "watched", lambda: REAL(0.2))
    assert watch.outcome(hang, None).startswith("BROKE TooLong")
    assert watch.outcome(lambda case: 1 / 0, None).startswith("BROKE ZeroDivisionError")
    assert watch.outcome(refuse, None) == "refused"
    assert watch.outcome(lambda case: None, None) == "ran"


REAL = watch.watched


def test_the_laws_can_fail():
    case = {
        "algorithm": "allreduce_ring", "ranks": 4, "options": {}, "place": "switch(4)", "edits": [], "nbytes": 4096,
        "dtype": "float32", "engine": "lockstep", "trouble": {},
    }  # fmt: skip
    trace = fuzz_scenarios.run(case)
    more = trace.link_bytes.copy()
    more[0] += 1
    trace.__dict__["link_bytes"] = more
    with pytest.raises(fuzz_scenarios.Broken, match="lost or made"):
        fuzz_scenarios.conserved(case, trace)
