"""The server in the tests of escapes: runs attempts in one box, and says what came of them and of itself.

Run as a script: `driver.py PLACE...` with a job on stdin; PLACEs go to the front of sys.path.
"""

import json
import os
import re
import resource
import sys
from pathlib import Path


def main() -> None:
    """Read a job, answer it."""
    sys.path[:0] = sys.argv[1:]
    from collsim.sandbox import Isolation, Limits, sandbox_launcher
    from collsim.sandbox.attempt import read_attempt
    from collsim.sandbox.handins import File
    from collsim.sandbox.jobs import SandboxTask
    from collsim.sandbox.learner_tables import FunctionRequest
    from collsim.sandbox.sandbox_launcher import run_sandboxed

    job = json.load(sys.stdin)
    if job.get("ask"):
        from collsim.sandbox import detect_isolation, isolation

        print(json.dumps([detect_isolation(), isolation._can_run_bubblewrap()]))
        return
    sandbox_launcher._START += f"  # {job['mark']}"
    limits, wanted = Limits(**job["limits"]), FunctionRequest("broadcast", (2,))
    codes = {name: code.replace("$SERVER", str(os.getpid())) for name, code in job["attempts"].items()}
    files = [File(f"a{number}.py", code.encode()) for number, code in enumerate(codes.values())]
    tasks = [SandboxTask(name, wanted, "f", number) for number, name in enumerate(codes)]
    before = itself()
    found = {}
    for number, ended in run_sandboxed(
        files, tasks, limits, isolation=Isolation(job["isolation"]), allow_unsandboxed=True
    ):
        made = read_attempt(ended, wanted, limits)
        found[tasks[number].exercise] = {
            "printed": made.printed, "error": str(made.error), "how": ended.how, "bytes": len(ended.data),
            "schedules": len(made.schedules),
        }  # fmt: skip
    status = Path("/proc/self/status").read_text()  # getrusage would tell of the process that started this one, too
    peak = int(re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)[1]) * 1024
    print(json.dumps({"attempts": found, "before": before, "after": itself(), "peak": peak}))


def itself() -> list[str]:
    """What others could have changed of this process."""
    limits = [resource.getrlimit(kind) for kind in range(16)]
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    return [str(limits), str(nice), str(os.sched_getaffinity(0)), str(sorted(os.listdir("/proc/self/fd")))]


if __name__ == "__main__":
    main()
