"""The limits under which every fuzzer runs a case, and the loop around the cases.

A case may end in a CollsimError whose message can be read, and in nothing else; it may take no more than five seconds
(of its processor's time, so that a busy machine breaks nothing; five times that on the clock, for one that only waits)
and no more than one GiB beyond what the process has when it begins.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager

SLOW, MEMORY, LONGEST_MESSAGE = 5, 2**30, 4000
BATCH = 2_000  # cases of one process: what caches hold does not count against the next ones


class TooLong(BaseException):
    """A case that runs for more than `SLOW` seconds; no handler of the code under test catches it."""


@contextmanager
def watched(seconds=SLOW):
    """Raises TooLong inside after so many seconds of work, or five times that of waiting."""

    def stop(*_):
        raise TooLong(f"more than {seconds} s")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, 5 * seconds))
    before = [(number, signal.signal(number, stop)) for number, _, _ in timers]
    for _, timer, after in timers:
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)


def limit_memory():
    """From here on this process may take one GiB more than it has."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))


def outcome(attempt, case):
    """What became of one case: `ran`, `refused`, or `BROKE` with what it broke by."""
    import collsim as cs

    try:
        with warnings.catch_warnings(), watched():
            warnings.simplefilter("ignore")
            attempt(case)
    except cs.CollsimError as error:
        if len(str(error)) > LONGEST_MESSAGE:
            return f"BROKE a message of {len(str(error))} characters"
        return "refused"
    except (Exception, TooLong) as error:
        return f"BROKE {type(error).__name__}: {str(error)[:300]}"
    return "ran"


def batch(make, attempt, keep, first, seconds, cases=BATCH):
    """Cases from seed `first` on until `seconds` have passed; how many came to what."""
    counts, end = Counter(), time.monotonic() + seconds
    for seed in itertools.count(first):
        if time.monotonic() > end or sum(counts.values()) >= cases:
            return counts
        case = make(seed)
        found = outcome(attempt, case)
        counts[found.split(" ")[0]] += 1
        if found.startswith("BROKE"):
            keep(seed, case, found)
            print(f"seed {seed}: {found}", flush=True)
    return counts


def main(script, make, attempt, keep, warm, words):
    """`SECONDS [FIRST SEED]`: batch after batch, each in a process of its own; the counts at the end."""
    if words[0] == "--batch":
        warm()
        limit_memory()
        counts = batch(make, attempt, keep, int(words[1]), float(words[2]))
        print("COUNTS " + " ".join(f"{name}={count}" for name, count in sorted(counts.items())), flush=True)
        return
    first, end, total = int(words[1]) if len(words) > 1 else 0, time.monotonic() + float(words[0]), Counter()
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, script, "--batch", str(first), str(left)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        counts = [line for line in done.stdout.splitlines() if line.startswith("COUNTS")]
        print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("COUNTS")), end="")
        if not counts:  # killed, or out of memory where Python could not say so
            print(f"DIED in the batch from seed {first}: {done.returncode}\n{done.stderr[-2000:]}", flush=True)
            total["DIED"] += 1
        for word in counts[0].split()[1:] if counts else ():
            name, _, count = word.partition("=")
            total[name] += int(count)
        first += BATCH
        print(f"\nup to seed {first}: " + ", ".join(f"{n} {c:,}" for n, c in sorted(total.items())), flush=True)
