"""Command lines that start a training: which launcher, how many processes, and what the options of the script say.

Sources: `torchrun --help` (torch/distributed/run.py), mpirun(1) of Open MPI, mpiexec of MPICH (-ppn), srun(1), jsrun of
IBM Spectrum LSF (resource sets: --nrs, --tasks_per_rs, --rs_per_host), and main.py of pytorch/examples/imagenet,
whose options articles quote: its --dist-backend does nothing unless --multiprocessing-distributed or --world-size
above 1 makes it start a process group, and its --world-size counts nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ..errors import CollsimError
from .findings import ScriptFinding
from .wrappers import (
    LAUNCHERS,
    NAMES,
    WRAPPERS,
    find_command,
    read_assignments,
    split_commands,
    split_shell_words,
    unwrap_command,
)

_LONGEST_COMMAND = 4_000  # characters
#: Of a batch, that of all GPUs together too.
MAX_SAMPLES = 10**6
#: Launchers inside one another, such as srun that starts a torchrun on each node; beyond it is no command of a person.
_DEEPEST = 4
#: A line of a text that is a command: python or a launcher at its beginning, or behind a program that runs it (then the
#: line names a script, or a sentence that begins with "time" would count).
_BEFORE = "|".join((*WRAPPERS, "cd", "source", "export", "module"))
_START = re.compile(
    rf"^[ \t]*(?:[$>#][ \t]+)?((?:[A-Z][A-Z0-9_]*=\S+[ \t]+)*"
    rf"(?:(?:{_BEFORE})[ \t]+(?=.*(?:\.py\b|[ \t]-m[ \t]))(?:.*?[ \t\"'])??)?"
    rf"(?:python[\d.]*|{'|'.join(map(re.escape, LAUNCHERS))})[ \t]+\S.*)$",
    re.MULTILINE,
)
_TYPOGRAPHIC = re.compile("[“”‘’—–]")
#: A variable of a shell script with its value: a word, a text in quotes, or an array.
_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\([^()]*\)|[^\s;#()\"']*)[ \t]*(?:[;#].*)?$",
    re.MULTILINE,
)
#: How a shell script names it: `$GPUS`, `${GPUS}`, `${ARGS[@]}`, `${GPUS:-8}`.
_VARIABLE = re.compile(r"\"?\$(?:(\w+)|\{(\w+)(?:\[@\])?(?::-([^{}]*))?\})\"?")
#: Variables whose values name other variables.
_MOST_EXPANSIONS = 5
#: Options of scripts that say the same, by what they say.
_TOTAL_BATCH = ("--global-batch-size", "--global_batch_size")  # of Megatron-LM, over all GPUs
_BATCH = (*_TOTAL_BATCH, "-b", "--batch-size", "--batch_size", "--per_device_train_batch_size", "--micro-batch-size")
_BACKEND = ("--dist-backend", "--dist_backend", "--backend", "--ddp-backend")
#: Options of Megatron-LM (megatron/training/arguments.py): GPUs that share each layer, and stages of layers.
_TENSOR = ("--tensor-model-parallel-size", "--tensor_model_parallel_size")
_PIPELINE = ("--pipeline-model-parallel-size", "--pipeline_model_parallel_size")
_MODEL = ("-a", "--arch", "--model", "--model_name_or_path")
#: Options of mpirun and horovodrun with the nodes, divided by commas.
_HOSTS = ("-H", "--host", "-host", "-hosts", "--hosts")
_FLAGS = ("--multiprocessing-distributed", "-e", "--evaluate", "--pretrained", "--dummy")


@dataclass(frozen=True)
class CommandLine:
    """A command that starts a training.

    Attributes:
        text: the command.
        launcher: `python`, `torchrun`, `torch.distributed.launch`, `mpirun` ...
        script: the script that it starts.
        nodes: how many nodes it says.
        ranks_per_node: processes on each; None where it says one for each GPU.
        options: what it gives the script, by option.
        environment: variables in front of it.
    """

    text: str
    launcher: str
    script: str
    nodes: int = 1
    ranks_per_node: int | None = 1
    options: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def batch(self) -> int | None:
        """The batch size that it gives the script; None where it gives none."""
        batch = _read_number(self._find_option(_BATCH))
        if batch is None or batch > MAX_SAMPLES:
            return None
        return batch

    @property
    def divides_batch(self) -> bool:
        """Whether that batch is the one of all GPUs together, and not of each."""
        imagenet = self.is_imagenet_example and self.starts_group  # "of all GPUs on the current node"
        return imagenet or bool(self._find_option(_TOTAL_BATCH))

    @property
    def backend(self) -> str:
        """The backend that it asks for; "" for none."""
        return self._find_option(_BACKEND).strip("\"'“”‘’")

    @property
    def model(self) -> str:
        """The model that it names; "" for none."""
        return self._find_option(_MODEL)

    @property
    def split(self) -> tuple[int, int]:
        """GPUs that share each layer and stages of layers, as Megatron-LM's options say; 1 for what none says."""
        tensor, pipeline = (_read_number(self._find_option(names)) for names in (_TENSOR, _PIPELINE))
        return tensor or 1, pipeline or 1

    @property
    def is_imagenet_example(self) -> bool:
        """Whether it starts the ImageNet example of PyTorch: its script and its options."""
        example_options = {"-a", "--arch", "--dist-backend", "--dist-url", "--multiprocessing-distributed"}
        return PurePath(self.script).name == "main.py" and bool(example_options & self.options.keys())

    @property
    def starts_group(self) -> bool:
        """Whether the script starts a process group, as far as the command says it."""
        if self.is_imagenet_example:
            world = _read_number(self.options.get("--world-size", ""))
            return "--multiprocessing-distributed" in self.options or (world or 0) > 1
        return self.launcher != "python"

    def _find_option(self, names: Sequence[str]) -> str:
        return next((self.options[name] for name in names if name in self.options), "")


def find_command_lines(text: str) -> list[str]:
    """Find the command lines in a text.

    Args:
        text: an article, a shell script, or one line; a backslash at the end of a line goes on with the next.
    """
    logical_lines = _join_lines(text)
    return [match[1].strip() for match in _START.finditer(logical_lines) if len(match[1]) <= _LONGEST_COMMAND]


def _join_lines(text: str) -> str:
    return re.sub(r"\\\s*\n\s*", " ", text)


def expand_variables(command: str, text: str) -> str:
    """Put the values of variables into a command, as a shell does.

    Args:
        command: a command of the text.
        text: a shell script; variables that it does not assign, or assigns from another command, stay.

    Returns:
        The command; as it was where it would be longer than any command of a person.
    """
    if "$" not in command:
        return command
    values: dict[str, str] = {}
    for match in _ASSIGNMENT.finditer(_join_lines(text)):
        value = " ".join(match[2].strip("\"'()").split())
        if value not in ("$", ""):  # `$` is what is left of the output of another command
            # A default of its own: `GPUS=${GPUS:-8}`.
            values[match[1]] = re.sub(rf"\$\{{{match[1]}:-([^{{}}]*)\}}", r"\1", value)

    def read_value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], match[3] or match[0])

    expanded = command
    for _ in range(_MOST_EXPANSIONS):
        expanded = _VARIABLE.sub(read_value, expanded)
        if len(expanded) > _LONGEST_COMMAND:
            return command
    return expanded


def read_command_line(text: str) -> CommandLine:
    """Read one command line; nothing is started.

    Args:
        text: `torchrun --nproc_per_node=8 train.py --batch-size 64`, `python main.py -a resnet18 -b 512 imagenet/`.

    Raises:
        CollsimError: it starts no script.
    """
    try:
        words = split_shell_words(text[:_LONGEST_COMMAND])
    except ValueError as error:
        raise CollsimError("the command cannot be read: {reason}", reason=str(error)) from None
    exported: dict[str, str] = {}
    for command_words in split_commands(words):
        if command_words[:1] == ["export"]:
            exported |= read_assignments(command_words)
        elif command := _read_words(text, command_words):
            return replace(command, environment=exported | command.environment)
    raise CollsimError("the command starts no script: {text!r}", text=text[:80])


def _read_words(text: str, words: list[str], depth: int = 0) -> CommandLine | None:
    """The command that words are; None where they start no script."""
    environment, words = unwrap_command(words)
    if not words or depth > _DEEPEST:
        return None
    launcher = PurePath(words[0]).name
    words = words[1:]
    if re.fullmatch(r"python[\d.]*", launcher):
        launcher = "python"
        while words and re.match(r"^-[a-ln-zA-Z]+$", words[0]):  # -u, of Python itself
            words = words[1:]
        # `python -m torch.distributed.launch` is a launcher, not a script.
        if words[:1] == ["-m"] and words[1:2] and words[1] in NAMES["launching_modules"]:
            launcher = NAMES["launching_modules"][words[1]]
            words = words[2:]
    elif (start := find_command(words)) is not None and launcher in LAUNCHERS:
        inner = _read_words(text, words[start:], depth + 1)
        return inner and _join_launchers(launcher, words[:start], environment, inner)
    launcher_words, script_words = _split_at_script(words)
    if not script_words or launcher not in {"python", *LAUNCHERS, *NAMES["launching_modules"].values()}:
        return None
    nodes, ranks_per_node = _count_processes(launcher, _read_options(launcher_words))
    return CommandLine(
        text, launcher, script_words[0], nodes, ranks_per_node, _read_options(script_words[1:]), environment
    )


def _join_launchers(
    launcher: str, launcher_words: list[str], environment: dict[str, str], inner: CommandLine
) -> CommandLine:
    """The command of a launcher that starts another command: `srun -N 2 torchrun --nproc_per_node=8 train.py`."""
    nodes, ranks_per_node = _count_processes(launcher, _read_options(launcher_words))
    variables = environment | read_assignments(launcher_words) | inner.environment
    if inner.launcher == "python":
        return replace(inner, launcher=launcher, nodes=nodes, ranks_per_node=ranks_per_node, environment=variables)
    # Each task of the outer launcher is the inner one, on a node of its own.
    tasks = nodes * (ranks_per_node or 1)
    return replace(inner, nodes=max(inner.nodes, tasks), environment=variables)


def _split_at_script(words: list[str]) -> tuple[list[str], list[str]]:
    """Words up to the script, and the script with its own."""
    for number, word in enumerate(words):
        if word.endswith(".py"):
            return words[:number], words[number:]
        if word == "-m" and number + 1 < len(words):
            return words[:number], words[number + 1 :]
    return words, []


def _read_options(words: list[str]) -> dict[str, str]:
    """Options with their values; "" for one without."""
    options: dict[str, str] = {}
    number = 0
    while number < len(words):
        word = words[number]
        number += 1
        if not re.match(r"^--?[A-Za-z]", word):
            continue
        name, sign, value = word.partition("=")
        if re.match(r"^-[A-Za-z]\d", word):  # -n16, as srun takes it, and -b512
            name, sign, value = word[:2], "=", word[2:]
        if not sign and name not in _FLAGS and number < len(words) and not re.match(r"^--?[A-Za-z]", words[number]):
            value = words[number]
            number += 1
        options[name] = value
    return options


def _count_processes(launcher: str, launcher_options: dict[str, str]) -> tuple[int, int | None]:
    """Nodes, and processes on each, that a launcher starts; None for one on each GPU."""

    def read_number(*names: str) -> int | None:
        texts = (launcher_options.get(name, launcher_options.get(name.replace("_", "-"), "")) for name in names)
        return next((number for text in texts if (number := _read_number(text)) is not None), None)

    if launcher in ("torchrun", "torch.distributed.run", "torch.distributed.launch"):
        # An elastic range (`1:4`) is read as its least number.
        nodes = launcher_options.get("--nnodes", "1").partition(":")[0]
        per_node = launcher_options.get("--nproc_per_node", launcher_options.get("--nproc-per-node", "1"))
        # One process a GPU, or a variable of the shell: how many that is, the machine says.
        if per_node in ("gpu", "auto") or per_node.startswith("$"):
            return _read_number(nodes) or 1, None
        return _read_number(nodes) or 1, _read_number(per_node) or 1
    if launcher in ("mpirun", "mpiexec", "mpiexec.hydra", "horovodrun", "aprun"):
        tasks = read_number("-np", "-n", "--np", "-c", "--n") or 1
        of_node = read_number("-ppn", "-perhost", "-npernode", "--npernode", "-N")
        if per_node_text := re.match(r"ppr:(\d{1,7}):node", launcher_options.get("--map-by", "")):
            of_node = int(per_node_text[1])
        hosts = next((launcher_options[name] for name in _HOSTS if name in launcher_options), "").count(",") + 1
        if of_node:
            return max(1, tasks // of_node), min(of_node, tasks)
        return (hosts, tasks // hosts) if tasks % hosts == 0 else (1, tasks)
    if launcher == "jsrun":  # resource sets, and tasks in each
        tasks_of_set = read_number("-a", "--tasks_per_rs") or 1
        tasks = read_number("-p", "--np") or (read_number("-n", "--nrs") or 1) * tasks_of_set
        sets_of_node = read_number("-r", "--rs_per_host")
        tasks_of_node = min(tasks, sets_of_node * tasks_of_set) if sets_of_node else tasks
        return max(1, tasks // tasks_of_node), tasks_of_node
    if launcher == "srun":
        # srun counts tasks over all nodes.
        stated, tasks_per_node = read_number("-n", "--ntasks"), read_number("--ntasks_per_node")
        nodes_number = read_number("-N", "--nodes") or max(1, (stated or 1) // (tasks_per_node or stated or 1))
        return nodes_number, tasks_per_node or max(1, (stated or nodes_number) // nodes_number)
    if launcher == "deepspeed":
        return read_number("--num_nodes") or 1, read_number("--num_gpus")
    if launcher == "accelerate":  # it counts processes over all machines
        machines, processes = read_number("--num_machines") or 1, read_number("--num_processes")
        return machines, processes and max(1, processes // machines)
    return 1, 1


def _read_number(text: str) -> int | None:
    """A number of nodes, processes or samples; None where a variable of the shell stands in its place."""
    if re.fullmatch(r"[0-9]{1,7}", text):
        return int(text)
    return None


def find_command_mistakes(command: CommandLine) -> Iterator[ScriptFinding]:
    """Apply the rules for commands.

    Args:
        command: the command.

    Yields:
        The findings; all stand in line 1.
    """
    if _TYPOGRAPHIC.search(command.text):
        yield ScriptFinding("typographic_marks", 1, "fails", {"mark": _TYPOGRAPHIC.findall(command.text)[0]})
    if command.launcher == "torch.distributed.launch":
        yield ScriptFinding("old_launcher", 1, "note", {"script": command.script})
    if command.launcher.startswith("torch"):
        for option in (name for name in NAMES["torchrun_options"] if name in command.options):
            yield ScriptFinding("option_behind_script", 1, "wrong", {"option": option, "script": command.script})
    gpus, ranks = math.prod(command.split), command.nodes * (command.ranks_per_node or 0)
    if ranks % gpus:  # Megatron-LM: megatron/core/parallel_state.py
        yield ScriptFinding("split_of_other_ranks", 1, "fails", {"ranks": ranks, "gpus": gpus})
    if command.backend and command.backend.lower() not in NAMES["backends"]:
        yield ScriptFinding("unknown_backend", 1, "fails", {"backend": command.backend, "nearest": "nccl"})
    elif command.backend and command.is_imagenet_example and not command.starts_group:
        yield ScriptFinding("ignored_backend", 1, "note", {"backend": command.backend})
