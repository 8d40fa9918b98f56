"""The same run as Python, as a command line, and on real hardware: text that is ready to copy and true."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import collsim as cs

from . import custom_machine
from .choice import Choice, engine_pair, network_text, networks
from .custom_machine import OWN

#: Programs of nccl-tests by collective (nccl-tests 2.19.6, src/*.cu).
_PROGRAMS = {
    "allreduce": "all_reduce_perf",
    "reduce": "reduce_perf",
    "broadcast": "broadcast_perf",
    "allgather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "alltoall": "alltoall_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
    "sendrecv": "sendrecv_perf",
}
#: Algorithms that NCCL 2.30 has itself, with the value of NCCL_ALGO (src/graph/tuning.cc); None where NCCL has but one
#: way.
_NCCL = {
    "allreduce_ring": "Ring",
    "allreduce_double_binary_tree": "Tree",
    "allreduce_nvls": "NVLS",
    "allgather_ring": "Ring",
    "reduce_scatter_ring": "Ring",
    "broadcast_chain": "Ring",
    "reduce_chain": "Ring",
}
#: Names of nccl-tests' -d (src/common.cu).
_DTYPES = {"float16": "half", "float32": "float", "float64": "double", "float8_e4m3": "f8e4m3", "float8_e5m2": "f8e5m2"}


def python(choice: Choice, options: dict[str, Any]) -> str:
    """A script that prints the same figures. `options` are those used, channels included."""
    run = f"t = cs.simulate(s, m, {choice.nbytes!r}{_more(choice)})\nprint(t)\n"
    return (_scheduled(choice, options, place(choice)) + run).replace("'", '"')


def python_synthesis(choice: Choice, options: dict[str, Any], changed: str = "", switches: bool = True) -> str:
    """A script that races what is synthesized against a run, and writes it; `changed` builds a machine that is not the
    choice's. `switches`: those that reduce may be used."""
    given = "" if switches else "switches=False"
    race = f"race = cs.simulate(s, m, {choice.nbytes!r}{_more(choice)}).close_gap({given})\nprint(race)\n"
    save = "cs.save(race.schedule, 'synthesized.xml')\n"
    return (_scheduled(choice, options, changed or place(choice)) + race + save).replace("'", '"')


def _scheduled(choice: Choice, options: dict[str, Any], machine: str) -> str:
    """The first lines of a script: the machine and the schedule."""
    words = ", ".join(["topology=m", *(f"{name}={value!r}" for name, value in options.items())])
    return f"import collsim as cs\n\nm = {machine}\ns = cs.schedule({choice.algorithm!r}, {words})\n"


def place(choice: Choice, **more: Any) -> str:
    """The call that builds the machine or network; `more` are further keywords of `machine`."""
    further = [f"{name}={value!r}" for name, value in more.items()]
    if choice.place == OWN:
        facts = custom_machine.facts(choice.own)
        given = custom_machine.settings(choice.own, choice.nodes, choice.fabric, choice.p2p, choice.gdr)
        words = [repr(facts.file), *(f"{name}={value!r}" for name, value in given.items()), *further]
        return f"cs.load_topology({', '.join(words)})"
    if choice.on_machine:
        words = [f"nodes={choice.nodes}"] + [f"{name}=False" for name in ("p2p", "gdr") if not getattr(choice, name)]
        words += [f"fabric={choice.fabric!r}"] if choice.fabric != "switch" else []
        return f"cs.machine({choice.place!r}, {', '.join([*words, *further])})"
    name, _, rest = network_text(choice).partition("(")
    return f"cs.topology.{name}({', '.join(map(_argument, rest.rstrip(')').split(', ')))})"


def _argument(word: str) -> str:
    """An argument of a network as Python writes it: `8`, `alpha='1us'`, `reduces=True`."""
    name, equals, value = word.partition("=")
    return f"{name}={value!r}" if equals and value != "True" else word


def _settings(choice: Choice) -> list[tuple[str, str, str]]:
    usual = Choice()
    names = ("dtype", "engine", *(("sharing",) if choice.engine == "event" else ()))
    return [(name, getattr(choice, name), getattr(usual, name)) for name in names]


def _more(choice: Choice) -> str:
    return "".join(f", {name}={given!r}" for name, given, usual in _settings(choice) if given != usual)


def python_sweep(choice: Choice, pairs: list[tuple[str, dict[str, Any]]]) -> str:
    """A script that prints the times of a comparison, a column for each algorithm, and what each chose."""
    names = "".join(f"    {name!r},\n" for name in dict.fromkeys(name for name, _ in pairs))
    engine = engine_pair(choice)
    more = f", dtype={choice.dtype!r}" if choice.dtype != "float32" else ""
    more += f", engine={engine!r}" if engine != "lockstep" else ""
    return (
        "import collsim as cs\n\n"
        f"m = {place(choice)}\n"
        f"names = [\n{names}]\n"
        f"table = cs.compare({choice.collective!r}, m, cs.size_range({choice.sizes!r}), algorithm=names{more})\n"
        "times = table.pivot_table(index='nbytes', columns='algorithm', values='time')\n"
        "print(times)\n"
        "print('channels × chunks: each the best of', table.attrs['search'])\n"
    ).replace("'", '"')


def python_race(runs: list[tuple[Choice, dict[str, Any]]]) -> str:
    """A script that prints a line for each run."""
    lines = "".join(f"show({place(one)}, {one.algorithm!r}, {options!r})\n" for one, options in runs)
    first = runs[0][0]
    return (
        "import collsim as cs\n\n\n"
        "def show(m, algorithm, options):\n"
        "    s = cs.schedule(algorithm, topology=m, **options)\n"
        f"    print(cs.simulate(s, m, {first.nbytes!r}{_more(first)}))\n\n\n"
        f"{lines}"
    ).replace("'", '"')


def python_change(
    before: Choice, changed: str, options: dict[str, Any], trouble: Mapping[str, Any], runs: int = 0, beside: str = ""
) -> str:
    """A script that prints what a change makes of a run; `changed` builds the machine after it.

    Args:
        trouble: further keywords of `simulate` after the change. runs: so many with other jitter, for a distribution.
        beside: lines that name `plans` and `ranks` of all that run at once, the run itself first; empty where it runs
        alone.
    """
    words = "".join(f", {name}={value!r}" for name, value in options.items())
    conditions = "".join(
        f", {name}={_rows(value) if name == 'background' else repr(value)}" for name, value in trouble.items()
    )
    more = (", **trouble", ", **trouble") if trouble else ("", "")
    settings = _more(before).replace(", engine='event'", "")
    many = f"times = cs.simulate_many(after.schedule, changed, {before.nbytes!r}{settings}, runs={runs}{conditions})\n"
    after = (
        f"changed = {changed}\nafter = run(changed{conditions})\n" if runs else f"after = run({changed}{conditions})\n"
    )
    tail = ""
    if beside:
        all_of_them = f"cs.simulate(plans, changed, {before.nbytes!r}{_more(before)}, ranks=ranks{conditions}"
        after = f"changed = {changed}\nplan = cs.schedule({before.algorithm!r}, topology=changed{words})\n{beside}"
        after += f"both = {all_of_them})\nafter = both[0]\n"
        many = f"import numpy as np\n\ntimes = np.array([{all_of_them}, seed=i)[0].time for i in range({runs})])\n"
        tail = (
            "print(both.to_frame()[['algorithm', 'ranks', 'alone', 'time', 'slowdown']])\nboth.save('together.html')\n"
        )
    return (
        "import collsim as cs\n\n\n"
        f"def run(m{more[0]}):\n"
        f"    s = cs.schedule({before.algorithm!r}, topology=m{words})\n"
        f"    return cs.simulate(s, m, {before.nbytes!r}{_more(before)}{more[1]})\n\n\n"
        f"before = run({place(before)})\n"
        + after
        + f"print(cs.compare(before, after))\n{tail}"
        + (f"{many}print(times.min(), times.mean(), times.max())\n" if runs else "")
    ).replace("'", '"')


def _rows(background: list[tuple[int, int, str]]) -> str:
    """Flows as people write them: the one, or one from every rank."""
    if len(background) == 1:
        return repr(background)
    count = len(background)
    return f"[(r, (r + {background[0][1]}) % {count}, {background[0][2]!r}) for r in range({count})]"


def python_way(choice: Choice, a: int, b: int) -> str:
    """A script that prints the way from one rank to another."""
    return f"import collsim as cs\n\nm = {place(choice)}\nprint(m.explain({a}, {b}))\n".replace("'", '"')


def command(
    choice: Choice, options: dict[str, Any], trouble: Mapping[str, Any] | None = None, beside: Sequence[str] = ()
) -> str:
    """The line for a shell that does the same; of `trouble` what has an option there: slow, late and jitter. `beside`:
    further words."""
    words = [
        "collsim",
        "run",
        choice.algorithm,
        *place_words(choice),
        "--nbytes",
        choice.nbytes.replace(" ", ""),
        *_setting_words(choice),
    ]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    for name, given in (trouble or {}).items():
        if name in ("slow", "late"):
            words += [word for rank, value in given.items() for word in (f"--{name}", f"{rank}={value}")]
        elif name == "jitter":
            words += ["--jitter", given]
    return " ".join(quoted(word) for word in (*words, *beside))


def command_sweep(choice: Choice, algorithms: tuple[str, ...]) -> str:
    """The line for a shell that compares these algorithms, each at its best as on the page."""
    words = ["collsim", "compare", "--collective", choice.collective]
    words += [word for name in algorithms for word in ("--algorithm", name)]
    words += [*place_words(choice), "--nbytes", choice.sizes]
    return " ".join(quoted(word) for word in (*words, *_setting_words(choice)))


def place_words(choice: Choice) -> list[str]:
    """The options of the command line that name the place."""
    if choice.place in networks():
        return ["--topology", network_text(choice)]
    if choice.place == OWN:
        given = custom_machine.settings(choice.own, choice.nodes, choice.fabric, choice.p2p, choice.gdr)
        words = ["--topology-file", custom_machine.facts(choice.own).file]
    else:
        given = {"nodes": choice.nodes, "fabric": choice.fabric, "p2p": choice.p2p, "gdr": choice.gdr}
        given = {name: value for name, value in given.items() if name == "nodes" or value != getattr(Choice, name)}
        words = ["--machine", choice.place]
    for name, value in given.items():
        words += [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
    return words


def _setting_words(choice: Choice) -> list[str]:
    return [word for name, given, usual in _settings(choice) if given != usual for word in (f"--{name}", given)]


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    return f'"{word}"' if "(" in word else shlex.quote(word)


def gpus(choice: Choice) -> int:
    """GPUs of a node that NCCL (on AMD's RCCL) could run on; none on a network, on processors alone and on TPUs."""
    if choice.place == OWN:
        return custom_machine.facts(choice.own).gpus
    machine = cs.topology.machines().get(choice.place)
    return len(machine.of_kind("gpu")) if machine is not None and machine.sm else 0


def environment(choice: Choice, options: dict[str, Any]) -> dict[str, str]:
    """NCCL's settings that make a real run the same: algorithm, channels, GPUDirect; where there are GPUs for it."""
    if not gpus(choice):
        return {}
    settings = {"NCCL_ALGO": _NCCL[choice.algorithm]} if choice.algorithm in _NCCL else {}
    if "channels" in options and settings:
        settings |= {"NCCL_MIN_NCHANNELS": str(options["channels"]), "NCCL_MAX_NCHANNELS": str(options["channels"])}
    settings |= {} if choice.p2p else {"NCCL_P2P_DISABLE": "1"}
    return settings | ({} if choice.gdr else {"NCCL_NET_GDR_LEVEL": "LOC"})


def exports(settings: dict[str, str]) -> str:
    """Settings as lines for a shell; with those that show what NCCL chose."""
    return "".join(
        f"export {name}={value}\n"
        for name, value in {**settings, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,GRAPH"}.items()
    )


def nccl_tests(choice: Choice, options: dict[str, Any], ranks: int, sizes: str | None = None) -> str | None:
    """The command that runs the same collective on real GPUs; None where NCCL has no such algorithm, or this is no
    machine with GPUs.

    Args:
        sizes: as `size_range` takes them; the choice's own size unless given.
    """
    nodes = choice.copies
    if choice.algorithm not in _NCCL or not gpus(choice) or choice.collective not in _PROGRAMS or ranks % nodes:
        return None
    words = " ".join(f"-x {name}={value}" for name, value in environment(choice, options).items())
    first, last, step = [*(sizes or choice.nbytes).split(":"), "", ""][:3]
    size = f"-b {cs.units.parse_bytes(first)} -e {cs.units.parse_bytes(last or first)}" + (
        f" -f {step or 2}" if last else ""
    )
    root = f" -r {options['root']}" if options.get("root") else ""
    return (
        f"mpirun -np {ranks} --map-by ppr:{ranks // nodes}:node {words} \\\n"
        f"    ./build/{_PROGRAMS[choice.collective]} {size} -d {_DTYPES.get(choice.dtype, choice.dtype)} -g 1{root}"
    )


def factor(value: float, ranks: int) -> str:
    """The busbw factor as people write it: `30/16`, or `1`."""
    top = value * ranks
    if math.isclose(value, round(value)) or not math.isclose(top, round(top)):
        return f"{value:g}"
    return f"{round(top)}/{ranks}"
