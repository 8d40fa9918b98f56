"""Command lines that start a training: which launcher, how many processes, and what the options of the script say.

Sources: `torchrun --help` (torch/distributed/run.py), mpirun(1) of Open MPI, and main.py of pytorch/examples/imagenet,
whose options articles quote: its --dist-backend does nothing unless --multiprocessing-distributed or --world-size
above 1 makes it start a process group, and its --world-size counts nodes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from ..errors import CollsimError
from .findings import BACKENDS, ScriptFinding

_LONGEST_COMMAND = 4_000  # characters
#: Of a batch, that of all GPUs together too.
MAX_SAMPLES = 10**6
_LAUNCHERS = ("torchrun", "mpirun", "mpiexec", "srun", "horovodrun", "deepspeed", "accelerate")
#: Commands that start another one, which is what counts.
_PREFIXES = ("nohup", "sudo", "time", "env")
_START = re.compile(
    rf"^[ \t]*(?:[$>#][ \t]+)?((?:(?:[A-Z][A-Z0-9_]*=\S+|{'|'.join(_PREFIXES)})[ \t]+)*"
    rf"(?:python[\d.]*|{'|'.join(_LAUNCHERS)})[ \t]+\S.*)$",
    re.MULTILINE,
)
#: Modules that are launchers, as `python -m` names them.
_MODULES = {
    "torch.distributed.launch": "torch.distributed.launch",
    "torch.distributed.run": "torch.distributed.run",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
#: Options of torchrun that scripts do not have.
_OF_TORCHRUN = ("--nproc_per_node", "--nproc-per-node", "--nnodes", "--node_rank", "--node-rank", "--standalone")
_TYPOGRAPHIC = re.compile("[“”‘’—–]")
#: Options of scripts that say the same, by what they say.
_BATCH = ("-b", "--batch-size", "--batch_size", "--per_device_train_batch_size", "--micro-batch-size")
_BACKEND = ("--dist-backend", "--dist_backend", "--backend", "--ddp-backend")
_MODEL = ("-a", "--arch", "--model", "--model_name_or_path")
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
    def backend(self) -> str:
        """The backend that it asks for; "" for none."""
        return self._find_option(_BACKEND).strip("\"'“”‘’")

    @property
    def model(self) -> str:
        """The model that it names; "" for none."""
        return self._find_option(_MODEL)

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
    logical_lines = re.sub(r"\\\s*\n\s*", " ", text)
    return [match[1].strip() for match in _START.finditer(logical_lines) if len(match[1]) <= _LONGEST_COMMAND]


def read_command_line(text: str) -> CommandLine:
    """Read one command line; nothing is started.

    Args:
        text: `torchrun --nproc_per_node=8 train.py --batch-size 64`, `python main.py -a resnet18 -b 512 imagenet/`.

    Raises:
        CollsimError: it starts no script.
    """
    try:
        words = shlex.split(text[:_LONGEST_COMMAND], comments=True)
    except ValueError as error:
        raise CollsimError("the command cannot be read: {reason}", reason=str(error)) from None
    environment: dict[str, str] = {}
    # Assignments before the command are its environment (`NCCL_DEBUG=INFO python main.py`).
    while words and (words[0] in _PREFIXES or re.match(r"^[A-Z][A-Z0-9_]*=", words[0])):
        name, sign, value = words.pop(0).partition("=")
        if sign:
            environment[name] = value
    if not words:
        raise CollsimError("the command starts no script: {text!r}", text=text[:80])
    launcher = PurePath(words.pop(0)).name
    if re.fullmatch(r"python[\d.]*", launcher):
        launcher = "python"
        while words and re.match(r"^-[a-ln-zA-Z]+$", words[0]):  # -u, of Python itself
            words.pop(0)
        # `python -m torch.distributed.launch` is a launcher, not a script.
        if words[:1] == ["-m"] and words[1:2] and words[1] in _MODULES:
            launcher = _MODULES[words[1]]
            words = words[2:]
    launcher_words, script_words = _split_at_script(words)
    if not script_words:
        raise CollsimError("the command starts no script: {text!r}", text=text[:80])
    launcher_options = _read_options(launcher_words)
    nodes, ranks_per_node = _count_processes(launcher, launcher_options)
    return CommandLine(
        text, launcher, script_words[0], nodes, ranks_per_node, _read_options(script_words[1:]), environment
    )


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
        if re.match(r"^-[nN]\d", word):  # -n16, as srun takes it
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
    if launcher in ("mpirun", "mpiexec", "horovodrun"):
        return 1, read_number("-np", "-n", "--np") or 1
    if launcher == "srun":
        # srun counts tasks over all nodes.
        tasks, tasks_per_node = read_number("-n", "--ntasks"), read_number("--ntasks_per_node")
        nodes_number = read_number("-N", "--nodes") or max(1, (tasks or 1) // (tasks_per_node or tasks or 1))
        return nodes_number, tasks_per_node or max(1, (tasks or nodes_number) // nodes_number)
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
        for option in (name for name in _OF_TORCHRUN if name in command.options):
            yield ScriptFinding("option_behind_script", 1, "wrong", {"option": option, "script": command.script})
    if command.backend and command.backend.lower() not in BACKENDS:
        yield ScriptFinding("unknown_backend", 1, "fails", {"backend": command.backend, "nearest": "nccl"})
    elif command.backend and command.is_imagenet_example and not command.starts_group:
        yield ScriptFinding("ignored_backend", 1, "note", {"backend": command.backend})
