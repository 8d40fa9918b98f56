"""Feed the readers of files with damaged ones, guided by coverage: `python tests/fuzz/fuzz_readers.py SECONDS [FORMAT
...]`.

Needs `pip install atheris`. What breaks a reader (anything but a CollsimError, more than ten seconds, or 4 GiB) is kept
in `tests/fuzz/broke/`, named after its format; `test_broke.py` reads all of them again, so a file belongs into the
repository together with the change that fixes the reader.
"""

import hashlib
import json
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
BROKE = HERE / "broke"
SLOW, LARGEST, MEMORY = 10, 16_384, 4096
LONGEST_MESSAGE = 1000


def kinds():
    """What is read: every format of the registry that is no topology, topologies (their text says of which kind), sweep
    plans, what a hung job wrote (Flight Recorder as JSON, and RAS), and evidence about a slow one."""
    from collsim.io import formats

    return [
        *(name for name, entry in formats().items() if entry.read and entry.holds != "topology"),
        "topology",
        "plan",
        "flight-recorder",
        "ras",
        "evidence",
    ]


def attempt(kind, path):
    """Read a file; check and simulate what it holds. Only a CollsimError may come out, with a message that can be
    read."""
    import collsim as cs
    from collsim.io import load
    from collsim.sweep import read_plan

    with warnings.catch_warnings(), cs.limits.within("512MiB"):
        warnings.simplefilter("ignore")
        try:
            if kind == "topology":
                cs.load_topology(path)
            elif kind == "plan":
                read_plan(path)
            elif kind == "evidence":
                found = cs.diagnose(path, anonymize=True)
                found.report("zh", "html")
                found.to_json()
            elif kind.startswith(("flight-recorder", "ras")):
                dump = path.with_name("trace_0")  # the name of a dump says its rank
                dump.write_bytes(path.read_bytes())
                str(cs.programs.load_hang(dump))
            else:
                _play(load(path, format=kind, **({"collective": "allreduce"} if kind == "csv" else {})))
        except cs.CollsimError as error:
            if len(str(error)) > LONGEST_MESSAGE:
                raise RuntimeError(f"a message of {len(str(error))} characters: {str(error)[:100]}") from error


def _play(found):
    import collsim as cs

    schedule = found.schedule() if callable(getattr(found, "schedule", None)) else found
    if isinstance(schedule, cs.Schedule) and len(schedule) < 5_000 and schedule.endpoints <= 64:
        cs.simulate(schedule, cs.topology.switch(schedule.endpoints), "1MiB", engine="event")
        cs.verify(schedule)


RAS = """Communicators... (0.00s)
    0         1         1         4         4         4   RUNNING  MISMATCH
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 6650
  Rank 2 has launched up to operation 6649 -- GPU 2 managed by process 483074 on node a
#1-0 (cf264af53edbe986) INCOMPLETE
  The missing rank: 1
"""


def dump_of_a_hang():
    """The Flight Recorder dump of a rank, as a pickle."""
    from collsim.programs.job_records.flight_recorder import write_dump
    from collsim.programs.job_records.records import JobRecord, RecordedCall

    calls = [
        RecordedCall(0, "0", 1, "all_reduce", -1, ((4,),), ((4,),), ("Float",), True, "train.py", 7),
        RecordedCall(0, "0", 1, "send", 1, ((4,),), (), ("Float",), False, "train.py", 8),
        RecordedCall(0, "1", 1, "barrier", -1, (), (), (), False, "train.py", 9),
    ]
    return write_dump(JobRecord({0: tuple(calls)}, {"0": (0, 1, 2), "1": (0, 2)}), 0, 600.0)


def seeds(kind):
    """Small good files of our own to begin with."""
    sys.path[:0] = [str(HERE.parent / "io"), str(HERE.parent / "topology" / "files"), str(HERE.parent / "sweep")]
    if kind == "topology":
        from test_nccl_xml import TWO
        from test_topo_m import TWO_SOCKETS
        from test_yaml import ASTRA, MINE

        import collsim as cs

        return [TWO, TWO_SOCKETS, MINE, ASTRA, cs.topology.ring(4).to_yaml(), cs.machine("dgx-a100", nodes=2).to_yaml()]
    if kind == "plan":
        from test_plan import PLAN

        return [PLAN]
    if kind == "ras":
        return [RAS]
    if kind == "evidence":
        sys.path.append(str(HERE.parent / "support"))
        from stated_causes import STATED
        from tool_outputs import OUTPUTS

        return ["\n".join(texts) for texts in STATED.values()] + list(OUTPUTS.values())
    if kind == "flight-recorder":
        return [json.dumps(pickle.loads(dump_of_a_hang()))]
    from test_formats import samples

    return [text for name, (text, _) in samples().items() if name.split()[0] == kind]


def fuzz(kind, seconds, place):
    """One process of libFuzzer; it ends early where a file is too slow or too large, and leaves that file in
    `place`."""
    import atheris

    with atheris.instrument_imports(
        include=[
            "collsim.io",
            "collsim.diagnosis",
            "collsim.topology.files",
            "collsim.sweep.plan",
            "collsim.programs.job_records",
        ]
    ):
        import collsim.io
        import collsim.sweep
        import collsim.topology.files  # noqa: F401
    corpus, path = place / "corpus", place / "file"
    if not corpus.exists():
        corpus.mkdir()
        for i, text in enumerate(seeds(kind)):
            (corpus / str(i)).write_text(text)

    def one(data):
        path.write_bytes(data)
        try:
            attempt(kind, path)
        except Exception as error:
            _keep(kind, data, f"{type(error).__name__}: {str(error)[:200]}")

    limits = [
        f"-max_total_time={seconds}",
        f"-timeout={SLOW}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={LARGEST}",
        f"-artifact_prefix={place}/",
    ]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], one)
    atheris.Fuzz()


def _keep(kind, data, why):
    """One file for each way to break."""
    file = BROKE / f"{kind}-{hashlib.sha256(why.encode()).hexdigest()[:8]}"
    if not file.exists():
        BROKE.mkdir(exist_ok=True)
        file.write_bytes(data)
        print(f"BROKE {file.name}: {why}", file=sys.stderr, flush=True)


def main(seconds, chosen):
    """Fuzz each kind for so many seconds, starting again after a file that ended the process."""
    for kind in chosen or kinds():
        with tempfile.TemporaryDirectory() as folder:
            place, end = Path(folder), time.monotonic() + seconds
            while (left := int(end - time.monotonic())) > 0:
                subprocess.run([sys.executable, __file__, "--one", kind, str(left), folder], check=False)
                for found in [
                    f for f in place.iterdir() if f.name.partition("-")[0] in ("timeout", "oom", "crash", "leak")
                ]:
                    _keep(kind, found.read_bytes(), found.name)
                    found.unlink()


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        fuzz(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(int(sys.argv[1]), sys.argv[2:])
