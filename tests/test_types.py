"""What a type checker tells a user of the package: mistakes in a script are found before it runs."""

import re
import subprocess
import sys

import pytest

SCRIPT = """\
import collsim as cs

two = cs.machine("dgx-a100", nodes=2)
ring = cs.schedule("allreduce_ring", topology=two)
trace = cs.simulate(ring, two, nbytes="64MiB", engine="event", jitter="1us", sharing="fair")
print(trace.time, trace.busbw, cs.train.ddp(), cs.ddp())
several = cs.simulate([ring, ring], two, ["1MiB", 2**20])
cs.simulate(ring, two, nbytes=[3.4])  # wrong: a list of sizes for one schedule
cs.simulate(ring, two, nbytes="1MiB", engine="evnt")  # wrong: no such engine
cs.simulate(two, two, nbytes="1MiB")  # wrong: a topology where a schedule belongs
cs.simulate(ring, two, nbytes="1MiB", engine="event", sharing="fare")  # wrong: no such sharing
cs.simulate(ring, two, nbytes="1MiB", jiter="1us")  # wrong: no such option
cs.topology.ring(8, bandwidth=object())  # wrong: no bandwidth
cs.lower_bound("allreduce", two, nbytes=None)  # wrong: no size
"""


@pytest.mark.slow
def test_a_type_checker_finds_each_mistake_of_a_script_and_nothing_else(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(tmp_path),
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {int(line) for line in re.findall(r"script\.py:(\d+): error:", done.stdout)}
    planted = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if "# wrong:" in line}
    assert len(planted) == 7
    assert found == planted, done.stdout + done.stderr
