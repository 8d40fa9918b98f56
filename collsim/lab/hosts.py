"""A measured run on other computers: a program file that needs no collsim, the line that starts it, and the traces that
it writes.

The user starts it there, with mpiexec or torchrun; nothing is started or sent from here.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CollsimError, require_language, require_word
from ..files import create_file, read_json, refuse
from ..locale import LANGUAGES, build_text
from ..package_data import read_package_file
from ..schedule import Schedule
from ..units import parse_bytes
from .prediction import predict_run
from .ranks.emulated_network import ImitatedNetwork
from .ranks.endpoint_program import build_programs
from .ranks.rank_process import RankOutcome
from .real_run import MAX_SECONDS, RealRun, build_trace, check_request, draw_numbers
from .real_trace import RealTrace

STARTERS = ("mpi", "torch")
SCHEMA = "collsim.lab/1"
PROGRAM, TRACE = "collsim_program.py", "collsim_trace_{rank}.json"
_MAX_HOSTS = 1024
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]*", re.ASCII)


@dataclass(frozen=True)
class HostsJob:
    """What was written: the program, the lines that start it (one, or one for each host), and where traces come."""

    program: Path
    lines: tuple[str, ...]

    def text(self, language: str = "en") -> str:
        """What was written, how it is started and what comes back, a line each.

        Args:
            language: "en" or "zh".
        """
        language_number = LANGUAGES.index(require_language(language))
        traces = TRACE.format(rank="*")
        wrote = build_text("lab", "hosts.wrote_copy_computers_start", program=self.program)
        back = build_text("lab", "hosts.then_bring_back_here", traces=traces)
        return "\n".join([wrote[language_number], *(f"  {line}" for line in self.lines), back[language_number]])


def write_program(
    schedule: Schedule, nbytes: Any, folder: Any, hosts: list[str], starter: str = "mpi", repeat: int = 5
) -> HostsJob:
    """Write the program of a schedule for other computers into a folder; the lines that start it.

    The file needs Python, numpy and mpi4py (`"mpi"`) or torch with gloo (`"torch"`). Each rank checks its numbers
    against what replay says of the same data and writes `collsim_trace_RANK.json` where it runs.

    Args:
        schedule: Its ranks are divided evenly among the hosts.
        nbytes: Size of the collective, in bytes or as a text such as "1MiB".
        folder: An existing folder, in which the program is written.
        hosts: Names that `mpirun` or `torchrun` reaches.
        starter: "mpi" or "torch".
        repeat: Runs that are measured, after one to warm up.

    Raises:
        CollsimError: Hosts do not divide the ranks, or the request is beyond the limits of a measured run.
    """
    require_word("starter", starter, STARTERS)
    _require_hosts(hosts)
    request = check_request(schedule, nbytes, repeat=repeat, time_limit=MAX_SECONDS)
    if schedule.ranks % len(hosts):
        template = "{ranks} ranks do not share {count} hosts evenly; use a multiple"
        raise CollsimError(template, ranks=schedule.ranks, count=len(hosts))
    text = read_package_file(__file__, "program.txt")
    path = Path(folder) / PROGRAM
    with create_file(path) as file:
        file.write(text.replace("@JOB@", json.dumps(json.dumps(_encode_job(request, starter)))).encode())
    return HostsJob(path, _build_command_lines(schedule.endpoints, hosts, starter))


def _require_hosts(hosts: list[str]) -> None:
    """Names as they stand on a command line, and nothing that a shell would take for something else."""
    if not 0 < len(hosts) <= _MAX_HOSTS:
        raise CollsimError("{count} hosts; give 1 to {most}", count=len(hosts), most=_MAX_HOSTS)
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise CollsimError("{host!r} is no name or address of a host", host=host)


def _encode_job(request: RealRun, starter: str) -> dict[str, object]:
    """Plain data: sizes, and for each endpoint its moves, what it holds at the start and must hold at the end."""
    values, has_data, expected = draw_numbers(request)
    ranks = [
        {
            "sends": [[m.row, m.step, m.peer, m.slot] for m in program.sends],
            "receives": [[m.row, m.step, m.peer, m.slot, m.kind] for m in program.receives],
            # Numbers travel as their 32 bits, so that no digit is lost in JSON.
            "values": values[e].view(np.uint32).tolist(),
            "expected": {slot: want.view(np.uint32).tolist() for slot, want in expected.get(e, {}).items()},
        }
        for e, program in enumerate(build_programs(request.schedule, has_data))
    ]
    return {
        "schema": SCHEMA,
        "starter": starter,
        "label": request.schedule.label,
        "nbytes": request.nbytes,
        "repeat": request.repeat,
        "sizes": request.sizes.tolist(),
        "ranks": ranks,
    }


def _build_command_lines(count: int, hosts: list[str], starter: str) -> tuple[str, ...]:
    ranks_per_host = math.ceil(count / len(hosts))
    if starter == "mpi":
        # Open MPI starts one process on a host without a number.
        where = ",".join(host if ranks_per_host == 1 else f"{host}:{ranks_per_host}" for host in hosts)
        return (f"mpiexec -n {count} --host {where} python3 {PROGRAM}",)
    where = f"--rdzv-backend=c10d --rdzv-endpoint={hosts[0]}:29400 --rdzv-id=collsim"
    return tuple(
        f"torchrun --nnodes={len(hosts)} --nproc-per-node={ranks_per_host} {where} {PROGRAM}  # on {h}" for h in hosts
    )


def read_traces(schedule: Schedule, nbytes: Any, folder: Any, alpha: float = 0.0, bandwidth: Any = None) -> RealTrace:
    """What the ranks wrote, as a RealTrace with the prediction for a switch of that alpha and bandwidth.

    Moments count from a barrier, on each host's own clock.

    Args:
        schedule: The one that `write_program` wrote.
        nbytes: The size that it was written for.
        folder: With the files of all ranks.
        alpha: s between two ranks, through the switch.
        bandwidth: B/s, or a text such as "25GB/s"; None for cables that take no time.

    Raises:
        FormatError: A file is missing, is of another schedule or size, or has a wrong number in it.
    """
    size = parse_bytes(nbytes)
    rank_runs = [_read_runs(Path(folder) / TRACE.format(rank=e), e, schedule, size) for e in range(schedule.endpoints)]
    runs = [[outcomes[k] for outcomes in rank_runs] for k in range(min(map(len, rank_runs)))]
    network = ImitatedNetwork(alpha, bandwidth)
    request = RealRun(schedule, size, np.dtype("float32"), "sum", network, len(runs), MAX_SECONDS, "hosts")
    return build_trace(request, predict_run(schedule, size, "float32", alpha, bandwidth), runs, None)


def _read_runs(path: Path, endpoint: int, schedule: Schedule, nbytes: int) -> list[RankOutcome]:
    """The runs of one rank."""
    record = read_json(path)
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        refuse(path, "", "is no trace of a rank, which begins with schema {schema!r}", schema=SCHEMA)
    if (record.get("label"), record.get("nbytes"), record.get("rank")) != (schedule.label, nbytes, endpoint):
        template = "is of {label} and {nbytes} bytes, rank {rank}; another run is asked for"
        refuse(path, "", template, label=record.get("label"), nbytes=record.get("nbytes"), rank=record.get("rank"))
    counts = [int((schedule.transfers[side] == endpoint).sum()) for side in ("src", "dst", "dst")]
    try:
        runs = [_parse_outcome(run, counts) for run in record["runs"]]
    except (KeyError, TypeError, ValueError) as error:
        refuse(path, "runs", "not moments of this schedule: {error}", error=str(error))
    if not runs or any(run.wrong for run in runs):
        refuse(path, "runs", "hold numbers that replay has not")
    return runs


def _parse_outcome(run: dict[str, Any], counts: list[int]) -> RankOutcome:
    from .ranks.exchange import Moments

    parts = [np.array(run[name], np.float64) for name in ("began", "came", "arrived")]
    if [len(part) for part in parts] != counts or not all(np.isfinite(part).all() for part in parts):
        raise ValueError("as many finite moments as transfers")
    return RankOutcome(Moments(*parts), int(run["checked"]), int(run["wrong"]), {})
