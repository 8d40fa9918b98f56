"""The same run as Python, as a command line, and on real hardware: text that is ready to copy and true."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import collsim as cs
from collsim.io.nccl.nccl_tests import TESTS
from collsim.nccl.difference import NCCL_ALGORITHMS

from . import custom_machine
from .choice import MACHINE_WORDS, Choice, MachineChoice, build_engine_pair, list_networks, write_network
from .custom_machine import OWN
from .machine_edits import write_edit_calls

#: File that holds a machine whose cables were edited, in commands, which have no words for that.
EDITED_FILE = "changed.yaml"
#: Programs of nccl-tests by collective.
_PROGRAMS = {collective: program for program, collective in TESTS.items()}
#: Names of nccl-tests' -d (src/common.cu).
_DTYPES = {"float16": "half", "float32": "float", "float64": "double", "float8_e4m3": "f8e4m3", "float8_e5m2": "f8e5m2"}


def write_call(name: str, *arguments: str, **options: object) -> str:
    """A call of Python.

    Args:
        name: What is called.
        arguments: Code of the arguments.
        **options: Values of the keywords.
    """
    return f"{name}({', '.join([*arguments, *(f'{key}={value!r}' for key, value in options.items())])})"


def write_script(*lines: str) -> str:
    """A script that imports collsim.

    Args:
        lines: Of the script.
    """
    return "\n".join(("import collsim as cs", "", *lines, "")).replace("'", '"')


def write_python(choice: Choice, options: Mapping[str, object]) -> str:
    """A script that prints the same figures. `options` are those used, channels included.

    Args:
        choice: The run that is chosen.
        options: Options of the algorithm or format, by name.
    """
    lines = _write_schedule_lines(choice, options, write_machine(choice))
    return write_script(*lines, f"t = {_write_run(choice)}", "print(t)")


def write_synthesis_python(
    choice: Choice, options: Mapping[str, object], changed: str = "", switches: bool = True
) -> str:
    """A script that races what is synthesized against a run, and writes it; `changed` builds a machine that is not the
    choice's. `switches`: those that reduce may be used.

    Args:
        choice: The run that is chosen.
        options: Options of the algorithm or format, by name.
        changed: Code that builds the machine after the change.
        switches: Whether switches of the machine that reduce may be used.
    """
    settings = {"switches": False}
    if switches:
        settings = {}
    lines = _write_schedule_lines(choice, options, changed or write_machine(choice))
    race = f"race = {_write_run(choice)}.{write_call('close_gap', **settings)}"
    return write_script(*lines, race, "print(race)", "cs.save(race.schedule, 'synthesized.xml')")


def _write_schedule_lines(choice: Choice, options: Mapping[str, object], machine: str) -> tuple[str, str]:
    """The machine and the schedule."""
    return f"m = {machine}", f"s = {write_call('cs.schedule', repr(choice.algorithm), 'topology=m', **options)}"


def _write_run(choice: Choice) -> str:
    return write_call("cs.simulate", "s", "m", repr(choice.nbytes), **_list_settings(choice))


def write_machine(choice: MachineChoice, **more: object) -> str:
    """The call that builds the machine or network; `more` are further keywords of `machine`.

    Args:
        choice: The run that is chosen.
        **more: Further keywords of the call.
    """
    return _write_machine_call(choice, **more) + write_edit_calls(choice.edits)


def _write_machine_call(choice: MachineChoice, **more: object) -> str:
    if choice.machine in list_networks():
        name, _, rest = write_network(choice).partition("(")
        return write_call(f"cs.topology.{name}", *map(_write_argument, rest.rstrip(")").split(", ")))
    settings = _list_machine_settings(choice) | more
    if choice.machine == OWN:
        return write_call("cs.load_topology", repr(custom_machine.read_facts(choice.machine_text).file), **settings)
    return write_call("cs.machine", repr(choice.machine), **settings)


def _list_machine_settings(choice: MachineChoice) -> dict[str, object]:
    """What is set of a machine, as far as it is not as usual, or as its file has it; and its parts."""
    if choice.machine == OWN:
        settings = custom_machine.build_settings(
            choice.machine_text, choice.nodes, choice.fabric, choice.p2p, choice.gdr
        )
    else:
        settings = {name: getattr(choice, name) for name in MACHINE_WORDS}
        settings = {
            name: value for name, value in settings.items() if name == "nodes" or value != getattr(Choice, name)
        }
    return {**settings, **dict(choice.parts)}


def _write_argument(word: str) -> str:
    """An argument of a network as Python writes it: `8`, `alpha='1us'`, `reduces=True`."""
    name, equals, value = word.partition("=")
    if equals and value != "True":
        return f"{name}={value!r}"
    return word


def _list_settings(choice: Choice) -> dict[str, str]:
    """Type and engine, as far as they are not as usual."""
    names = ["dtype", "engine"]
    if choice.engine == "event":
        names.append("sharing")
    return {name: getattr(choice, name) for name in names if getattr(choice, name) != getattr(Choice, name)}


def _write_settings(choice: Choice) -> str:
    return "".join(f", {name}={value!r}" for name, value in _list_settings(choice).items())


def write_sweep_python(choice: Choice, pairs: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """A script that prints the times of a comparison, a column for each algorithm, and what each chose.

    Args:
        choice: The run that is chosen.
        pairs: Algorithms with the options that are tried of each.
    """
    names = [f"    {name!r}," for name in dict.fromkeys(name for name, _ in pairs)]
    options: dict[str, object] = {"dtype": choice.dtype, "engine": build_engine_pair(choice)}
    unusual = {name: value for name, value in options.items() if value != getattr(Choice, name)}
    sizes = f"cs.size_range({choice.sizes!r})"
    return write_script(
        f"m = {write_machine(choice)}",
        "names = [",
        *names,
        "]",
        f"table = {write_call('cs.compare', repr(choice.collective), 'm', sizes, 'algorithm=names', **unusual)}",
        "times = table.pivot_table(index='nbytes', columns='algorithm', values='time')",
        "print(times)",
        "print('channels × chunks: each the best of', table.attrs['search'])",
    )


def write_race_python(runs: Sequence[tuple[Choice, Mapping[str, object]]]) -> str:
    """A script that prints a line for each run.

    Args:
        runs: The runs of the race, each with its options.
    """
    lines = "".join(f"show({write_machine(runner)}, {runner.algorithm!r}, {options!r})\n" for runner, options in runs)
    first = runs[0][0]
    return (
        "import collsim as cs\n\n\n"
        "def show(m, algorithm, options):\n"
        "    s = cs.schedule(algorithm, topology=m, **options)\n"
        f"    print(cs.simulate(s, m, {first.nbytes!r}{_write_settings(first)}))\n\n\n"
        f"{lines}"
    ).replace("'", '"')


def write_change_python(
    before: Choice,
    changed: str,
    options: Mapping[str, object],
    conditions: Mapping[str, Any],
    runs: int = 0,
    beside: str = "",
) -> str:
    """A script that prints what a change makes of a run; `changed` builds the machine after it.

    Args:
        before: The run before the change.
        changed: Code that builds the machine after the change.
        options: Options of the algorithm, by name.
        conditions: Further keywords of `simulate` after the change.
        runs: Number of runs that differ in their jitter, for a distribution; 0 for one run.
        beside: Lines that name `plans` and `ranks` of all that run at once, the run itself first; "" where it runs
            alone.
    """
    words = "".join(f", {name}={value!r}" for name, value in options.items())
    written = {name: repr(value) for name, value in conditions.items()}
    if "background" in conditions:
        written["background"] = _group_flows(conditions["background"])
    keywords = "".join(f", {name}={value}" for name, value in written.items())
    forwarded = ", **conditions" if conditions else ""
    # `simulate_many` always runs on the event engine.
    settings = _write_settings(before).replace(", engine='event'", "")
    many = f"times = cs.simulate_many(after.schedule, changed, {before.nbytes!r}{settings}, runs={runs}{keywords})\n"
    after = f"after = run({changed}{keywords})\n"
    if runs:
        after = f"changed = {changed}\nafter = run(changed{keywords})\n"
    tail = ""
    if beside:
        all_of_them = f"cs.simulate(plans, changed, {before.nbytes!r}{_write_settings(before)}, ranks=ranks{keywords}"
        after = f"changed = {changed}\nplan = cs.schedule({before.algorithm!r}, topology=changed{words})\n{beside}"
        after += f"both = {all_of_them})\nafter = both[0]\n"
        many = f"import numpy as np\n\ntimes = np.array([{all_of_them}, seed=i)[0].time for i in range({runs})])\n"
        tail = (
            "print(both.to_frame()[['algorithm', 'ranks', 'alone', 'time', 'slowdown']])\nboth.save('together.html')\n"
        )
    if runs:
        tail += f"{many}print(times.min(), times.mean(), times.max())\n"
    return (
        "import collsim as cs\n\n\n"
        f"def run(m{forwarded}):\n"
        f"    s = cs.schedule({before.algorithm!r}, topology=m{words})\n"
        f"    return cs.simulate(s, m, {before.nbytes!r}{_write_settings(before)}{forwarded})\n\n\n"
        f"before = run({write_machine(before)})\n" + after + f"print(cs.analysis.compare_runs(before, after))\n{tail}"
    ).replace("'", '"')


def _group_flows(background: list[tuple[int, int, str]]) -> str:
    """Flows as people write them: the one, or one from every rank."""
    if len(background) == 1:
        return repr(background)
    count = len(background)
    return f"[(r, (r + {background[0][1]}) % {count}, {background[0][2]!r}) for r in range({count})]"


def write_route_python(choice: Choice, a: int, b: int) -> str:
    """A script that prints the way from one rank to another.

    Args:
        choice: The run that is chosen.
        a: The rank at which the route begins.
        b: The rank at which it ends.
    """
    return write_script(f"m = {write_machine(choice)}", f"print(m.explain({a}, {b}))")


def write_command(
    choice: Choice,
    options: Mapping[str, object],
    conditions: Mapping[str, Any] | None = None,
    beside: Sequence[str] = (),
) -> str:
    """The command of a shell that does the same.

    Args:
        choice: The run that is chosen.
        options: Options of the algorithm or format, by name.
        conditions: Faults as keywords of `simulate`; slow, late and jitter have an option of the command.
        beside: Options of the command for what runs at the same time.
    """
    words = ["collsim", "run", choice.algorithm, *write_machine_words(choice)]
    words += ["--nbytes", choice.nbytes.replace(" ", ""), *list_option_words(_list_settings(choice))]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    for name, values in (conditions or {}).items():
        if name in ("slow", "late"):
            words += [word for rank, value in values.items() for word in (f"--{name}", f"{rank}={value}")]
        elif name == "jitter":
            words += ["--jitter", values]
    return join_words((*words, *beside))


def write_sweep_command(choice: Choice, algorithms: tuple[str, ...]) -> str:
    """The line for a shell that compares these algorithms, each at its best as on the page.

    Args:
        choice: The run that is chosen.
        algorithms: Names of the algorithms.
    """
    words = ["collsim", "compare", "--collective", choice.collective]
    words += [word for name in algorithms for word in ("--algorithm", name)]
    words += [*write_machine_words(choice), "--nbytes", choice.sizes]
    return join_words((*words, *list_option_words(_list_settings(choice))))


def write_machine_words(choice: MachineChoice) -> list[str]:
    """The options of the command line that name the machine.

    Args:
        choice: The run that is chosen.
    """
    if choice.edits:  # which have no option there
        return ["--topology-file", EDITED_FILE]
    if choice.machine in list_networks():
        return ["--topology", write_network(choice)]
    words = ["--machine", choice.machine]
    if choice.machine == OWN:
        words = ["--topology-file", custom_machine.read_facts(choice.machine_text).file]
    return words + list_option_words(_list_machine_settings(choice))


def join_words(words: Iterable[str]) -> str:
    """A command as a shell takes it.

    Args:
        words: Its words.
    """
    return " ".join(map(_quote_word, words))


def list_option_words(options: Mapping[str, object]) -> list[str]:
    """Options as the command line takes them: `--nodes 2`; a flag alone, or with `no-`; nothing for an empty value.

    Args:
        options: Values by name.
    """
    words: list[str] = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value != "":
            words += [f"--{option}", str(value)]
    return words


def _quote_word(word: str) -> str:
    if "(" in word:
        return f'"{word}"'
    return shlex.quote(word)


def count_node_gpus(choice: Choice) -> int:
    """GPUs of a node that NCCL (on AMD's RCCL) could run on; none on a network, on processors alone and on TPUs.

    Args:
        choice: The run that is chosen.
    """
    if choice.machine == OWN:
        return custom_machine.read_facts(choice.machine_text).gpus
    machine = cs.machines().get(choice.machine)
    if machine is not None and machine.sm:
        return len(machine.of_kind("gpu"))
    return 0


def list_environment(choice: Choice, options: Mapping[str, object]) -> dict[str, str]:
    """NCCL's settings that make a real run the same: algorithm, channels, GPUDirect; where there are GPUs for it.

    Args:
        choice: The run that is chosen.
        options: Options of the algorithm or format, by name.
    """
    if not count_node_gpus(choice):
        return {}
    settings = {}
    if choice.algorithm in NCCL_ALGORITHMS:
        settings = {"NCCL_ALGO": NCCL_ALGORITHMS[choice.algorithm]}
    if "channels" in options and settings:
        settings |= {"NCCL_MIN_NCHANNELS": str(options["channels"]), "NCCL_MAX_NCHANNELS": str(options["channels"])}
    if not choice.p2p:
        settings |= {"NCCL_P2P_DISABLE": "1"}
    if not choice.gdr:
        settings |= {"NCCL_NET_GDR_LEVEL": "LOC"}
    return settings


def write_exports(settings: dict[str, str]) -> str:
    """Settings as lines for a shell; with those that show what NCCL chose.

    Args:
        settings: Environment variables by name.
    """
    return "".join(
        f"export {name}={value}\n"
        for name, value in {**settings, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,GRAPH"}.items()
    )


def write_nccl_tests(choice: Choice, options: Mapping[str, object], ranks: int, sizes: str | None = None) -> str | None:
    """The command that runs the same collective on real GPUs; None where NCCL has no such algorithm, or this is no
    machine with GPUs.

    Args:
        choice: The run that is chosen.
        options: Options of the algorithm, by name.
        ranks: Number of ranks.
        sizes: Sizes as `size_range` takes them; None for the size of the choice.
    """
    nodes = choice.copies
    if (
        choice.algorithm not in NCCL_ALGORITHMS
        or not count_node_gpus(choice)
        or choice.collective not in _PROGRAMS
        or ranks % nodes
    ):
        return None
    words = " ".join(f"-x {name}={value}" for name, value in list_environment(choice, options).items())
    first, last, step = [*(sizes or choice.nbytes).split(":"), "", ""][:3]
    size = f"-b {cs.units.parse_bytes(first)} -e {cs.units.parse_bytes(last or first)}"
    if last:
        size += f" -f {step or 2}"
    root = ""
    if options.get("root"):
        root = f" -r {options['root']}"
    return (
        f"mpirun -np {ranks} --map-by ppr:{ranks // nodes}:node {words} \\\n"
        f"    ./build/{_PROGRAMS[choice.collective]} {size} -d {_DTYPES.get(choice.dtype, choice.dtype)} -g 1{root}"
    )


def write_factor(value: float, ranks: int) -> str:
    """The busbw factor as people write it: `30/16`, or `1`.

    Args:
        value: The factor.
        ranks: Number of ranks.
    """
    top = value * ranks
    if math.isclose(value, round(value)) or not math.isclose(top, round(top)):
        return f"{value:g}"
    return f"{round(top)}/{ranks}"
