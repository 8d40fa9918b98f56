"""Things for a worker to do in the tests: it imports them by this name."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from collsim.app.jobs.job_spec import report_progress
from collsim.app.pages.write import trial
from collsim.app.pages.write.verdict import judge_draft
from collsim.app.scenario.outcome import Refused


def count(to, seconds):
    for k in range(to):
        report_progress("run", (k + 1) / to)
        time.sleep(seconds)
    return list(range(to))


def count_aloud(to):
    for k in range(to):
        report_progress("run", (k + 1) / to, tuple(range(k + 1)))
        time.sleep(0.2)
    return tuple(range(to))


def one_long_operation():
    report_progress("run", 0.5)
    return sum(range(10**12))


def with_a_child(path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(path).write_text(str(child.pid))
    child.wait()


def with_a_file():
    with tempfile.TemporaryDirectory(prefix="half-written"):
        time.sleep(600)


def try_patiently(draft):
    """Try a draft that may take ten minutes, so that only the end of this process can end it sooner."""
    trial.LIMITS = replace(trial.LIMITS, seconds=600.0)
    return judge_draft(draft)


def refuse():
    raise Refused("refused.ranks", ranks=7, limit=5)


def break_down():
    raise ZeroDivisionError("of ours")


def die():
    os._exit(9)
