"""Pages that explain a concept: what they print is what they say, and their tables are the package's."""

import contextlib
import csv
import io
import re

import pytest
from make_articles import DOCS

import collsim as cs

#: A block of Python with the block of its output.
PRINTED = re.compile(r"^```python\n(.*?)^```\n(?:\n```(?:text)?\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md", "parallelism.md", "parallelism.zh.md"])
def test_a_page_prints_what_stands_below_its_code(page):
    blocks = PRINTED.findall((DOCS / "explained" / page).read_text(encoding="utf-8"))
    assert sum(bool(output) for _, output in blocks) >= 1
    names = {}
    for source, output in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(source, names)
        assert printed.getvalue() == output


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md"])
def test_the_table_of_backends_is_that_of_the_package(page):
    signs = {"yes": "✓", "no": "–", "if built for GPUs": "?"}
    columns = [("nccl", "gpu"), ("gloo", "cpu"), ("gloo", "gpu"), ("mpi", "cpu"), ("mpi", "gpu")]
    text = (DOCS / "explained" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z_, ]+) \|(( [✓–?] \|){5})$", text, re.MULTILINE)
    operations = [name for names, *_ in rows for name in names.split(", ")]
    assert len(operations) == 11
    for names, cells, _ in rows:
        for name in names.split(", "):
            support = [signs[cs.nccl.get_support(backend, name, device)] for backend, device in columns]
            assert support == cells.replace(" ", "").strip("|").split("|"), name


def load_library_times():
    """Measured seconds by machine, library and where the buffers are, then by bytes."""
    times = {}
    with (DOCS / "accuracy" / "libraries.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["machine"], row["library"], row["buffers"]
            times.setdefault(key, {})[int(row["nbytes"])] = float(row["seconds"])
    return times


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md"])
def test_what_is_said_of_nccl_and_mpi_is_what_was_measured(page):
    text = (DOCS / "explained" / page).read_text(encoding="utf-8")
    times = load_library_times()
    for key, seconds in times.items():
        assert f"| {' | '.join(key)} | {' | '.join(map(cs.format_time, seconds.values()))} |" in text
    machines = {machine for machine, *_ in times}
    nccl = {
        machine: times[key]
        for key in times
        for machine in machines
        if key[0] == machine and key[1].startswith("NCCL") and "TCP" not in key[1]
    }
    ratios = {}
    for (machine, library, buffers), seconds in times.items():
        if not library.startswith("NCCL"):
            for nbytes in (1024, 2**24):
                ratios.setdefault((buffers, nbytes), []).append(seconds[nbytes] / nccl[machine][nbytes])
    large, small, host = ratios["GPU", 2**24], ratios["GPU", 1024], [1 / ratio for ratio in ratios["CPU", 1024]]
    for values, spread in ((large, ("1.9", "24")), (small, ("0.99", "1.5")), (host, ("3.7", "5.8"))):
        assert (f"{min(values):.2g}", f"{max(values):.2g}") == spread
        assert all(figure in text for figure in spread)
    (tcp,) = (seconds[2**24] for key, seconds in times.items() if "TCP" in key[1])
    (polaris,) = (machine for machine in machines if machine.startswith("Polaris"))
    assert f"{tcp / nccl[polaris][2**24]:.2g}" == "4.2"
    assert tcp > times[polaris, "Cray MPICH 8.1.28", "GPU"][2**24]


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md"])
def test_what_is_said_of_nccl_and_gloo_is_what_was_measured(page):
    text = (DOCS / "explained" / page).read_text(encoding="utf-8")
    ratios = {}
    with (DOCS / "accuracy" / "gloo_sends.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cells = row["instances"], f"{row['gigabits']} Gb/s", f"{row['megabytes']} MB", row["gloo"], row["nccl"]
            assert f"| {' | '.join(cells)} |" in text
            ratios.setdefault(row["gigabits"], []).append(float(row["nccl"]) / float(row["gloo"]))
    assert max(ratios["10"]) < 1.1
    assert (f"{min(ratios['25']):.2g}", f"{max(ratios['25']):.2g}") == ("1.5", "2.9")
    assert re.search(r"1\.5 (to|到) 2\.9", text)
