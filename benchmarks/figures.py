"""Measure the figures of docs/performance.md that repeat, and write them into the page: `python benchmarks/figures.py`.

The benchmarks of `BENCHMARKS` run in one process with processor time as their clock, since other work on a machine
makes wall-clock times worthless. `docs/performance.json` stores each figure with its session: the machine, the date
and the load; both pages take the figures from there, by marks such as `0.061 s<!--= event.order.fair -->`. Figures that were
measured once are in the same file with their session: `tests/site/test_performance.py` finds a number without a source.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any

from collsim.units import format_time

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "performance.json"
PAGES = (ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.zh.md")
#: A time in front of the mark that names it.
MARK = re.compile(r"[\d.]+ [mµn]?s<!--= ([\w.]+) -->")
#: The benchmark of each figure, as pytest names it.
BENCHMARKS = {
    "lockstep.ring": "test_ring.py::test_build_verify_and_simulate_in_lockstep",
    "event.symmetry.fair": "test_event.py::test_ring_of_1024[symmetry-fair]",
    "event.order.fair": "test_event.py::test_ring_of_1024[program order-fair]",
    "event.order.fifo": "test_event.py::test_ring_of_1024[program order-fifo]",
    "event.order.none": "test_event.py::test_ring_of_1024[program order-none]",
    "event.queue.fair": "test_event.py::test_ring_of_1024[events-fair]",
    "event.queue.fifo": "test_event.py::test_ring_of_1024[events-fifo]",
    "event.queue.none": "test_event.py::test_ring_of_1024[events-none]",
    "event.queue.jitter": "test_event.py::test_ring_of_1024_with_jitter",
    "event.ring4096.symmetry": "test_event.py::test_ring_of_4096[symmetry-0]",
    "event.ring4096.order": "test_event.py::test_ring_of_4096[program order-4]",
    "event.ring4096.even": "test_event.py::test_ring_of_4096[events-0]",
    "event.ring4096.uneven": "test_event.py::test_ring_of_4096[events-4]",
    "event.flows256": "test_event.py::test_sixteen_random_flows_per_host[256]",
    "event.flows1024": "test_event.py::test_sixteen_random_flows_per_host[1024]",
    "event.fattree1024": "test_event.py::test_sixteen_random_flows_per_host_on_a_fat_tree[1024-16]",
    "event.fattree4096": "test_event.py::test_sixteen_random_flows_per_host_on_a_fat_tree[4096-26]",
    "event.server4096": "test_event.py::test_incast_of_4096_workers",
    "event.alltoall256": "test_event.py::test_alltoall_of_256",
    "event.dgx.order": "test_event.py::test_ring_of_1024_on_an_oversubscribed_fat_tree[True-8]",
    "event.dgx.queue": "test_event.py::test_ring_of_1024_on_an_oversubscribed_fat_tree[False-8]",
    "event.dgx.one": "test_event.py::test_ring_of_1024_on_an_oversubscribed_fat_tree[True-1]",
    "event.dgx.one.queue": "test_event.py::test_ring_of_1024_on_an_oversubscribed_fat_tree[False-1]",
    "compare.allreduce": "test_compare.py::test_all_algorithms_over_21_sizes_on_two_nodes[allreduce]",
    "compare.allgather": "test_compare.py::test_all_algorithms_over_21_sizes_on_two_nodes[allgather]",
    "compare.alltoall": "test_compare.py::test_all_algorithms_over_21_sizes_on_two_nodes[alltoall]",
    "routing.alltoall64": "test_routing.py::test_a_hundred_seeds_of_an_alltoall_on_64_hosts",
    "routing.ring256": "test_routing.py::test_a_hundred_seeds_of_a_ring_on_256_gpus",
    "training.alone1024": "test_training.py::test_1024_gpus_with_three_ways_of_splitting",
    "training.shared1024": "test_training.py::test_the_same_1024_gpus_on_one_shared_network",
    "training.alone16384": "test_training.py::test_16384_gpus_with_three_ways_of_splitting",
    "app.edit.explore": "test_app_edits.py::test_an_edit_of_the_machine[explore]",
    "app.edit.train": "test_app_edits.py::test_an_edit_of_the_machine[train]",
    "app.upgrades": "test_app_edits.py::test_the_upgrades_of_a_step",
    "training.search1024": "test_training.py::test_the_search_over_1024_gpus",
    "training.search16384": "test_training.py::test_the_search_over_16384_gpus",
}


def run_benchmarks(names: Collection[str]) -> dict[str, float]:
    """Run the benchmarks of some figures once.

    Args:
        names: of the figures.

    Returns:
        Seconds of processor time by figure, the least of the rounds.
    """
    tests = sorted(f"benchmarks/{BENCHMARKS[name]}" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "benchmarks.json"
        flags = ["--benchmark-only", "--benchmark-timer=time.process_time", f"--benchmark-json={out}"]
        subprocess.run([sys.executable, "-m", "pytest", "-q", *tests, *flags], cwd=ROOT, check=True)
        times = read_times(json.loads(out.read_text(encoding="utf-8")))
    return {name: times[BENCHMARKS[name]] for name in names}


def read_times(document: Any) -> dict[str, float]:
    """Read what pytest-benchmark wrote.

    Args:
        document: its JSON document.

    Returns:
        Seconds by benchmark.
    """
    return {bench["fullname"].removeprefix("benchmarks/"): bench["stats"]["min"] for bench in document["benchmarks"]}


def describe_session() -> dict[str, str]:
    """Describe this machine today: processors, versions, load and date."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return {
        "machine": f"{os.cpu_count()} cores of {models[0] if models else platform.processor()}, "
        f"Python {platform.python_version()}, {packages}",
        "date": datetime.date.today().isoformat(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "clock": "processor time, the least of the rounds",
    }


def renew(page: str, figures: dict[str, dict[str, str]]) -> str:
    """Put figures in front of their marks."""
    return MARK.sub(lambda match: f"{figures[match[1]]['time']}<!--= {match[1]} -->", page)


def main() -> None:
    """Measure, and write file and pages; or write the pages from the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", action="store_true", help="measure nothing: write the pages from the file")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="measure these figures")
    options = parser.parse_args()
    data = json.loads(DATA.read_text(encoding="utf-8"))
    if not options.pages:
        description = describe_session()
        session = f"repeated-{description['date']}-at-load-{description['load']}"
        for figure, seconds in run_benchmarks(options.only).items():
            data["repeated"][figure] = {"time": format_time(seconds), "session": session}
        used = {figure["session"] for figure in data["repeated"].values()} | {one["session"] for one in data["once"]}
        data["sessions"][session] = description
        data["sessions"] = {name: text for name, text in data["sessions"].items() if name in used}
        DATA.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for page in PAGES:
        page.write_text(renew(page.read_text(encoding="utf-8"), data["repeated"]), encoding="utf-8")


if __name__ == "__main__":
    main()
