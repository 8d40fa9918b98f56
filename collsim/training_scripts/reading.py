"""Read a training script or a command line: what it does, what is wrong, and what its steps would do on a machine."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..files import read_source
from ..locale import translate
from .article import find_code
from .commands import MAX_SAMPLES, CommandLine, find_command_mistakes, read_command_line
from .corrections import apply_edits
from .findings import ScriptFinding, find_mistakes
from .script_facts import MAX_CHARACTERS, ScriptFacts, is_false, parse_script

Parallelism = Literal["DDP", "FSDP", "DataParallel", "none"]
#: So often a corrected script is read again: a mistake may hide another, but an edit never brings one back.
_MAX_ROUNDS = 4
_LONGEST_TITLE = 60  # characters
#: Attributes of a part that its plain data have as they are.
_FIELDS = (
    "parallelism", "launch", "model", "parameters", "batch", "ranks", "tensor", "pipeline", "source", "corrected",
)  # fmt: skip
_MAX_PARAMETERS = 10**14  # a hundred times the largest models; beyond it is no model


@dataclass(frozen=True)
class ScriptPart:
    """One script or command of what was given.

    Attributes:
        source: its text, with lost line breaks and indentation put back.
        findings: what is wrong or missing, in the order of the lines.
        parallelism: how it spreads the model over GPUs.
        backends: what carries its collectives, as far as it says so.
        launch: how its processes start: `spawn` (by itself), `torchrun` (it needs a launcher), `python` (one
            process), or the launcher of a command.
        model: a model of the library that it names; "" for none or one of its own.
        parameters: weights in layers that it writes out with numbers; 0 where it has none.
        batch: samples of a loader or of the command; None where it does not say.
        ranks: processes, where it says how many.
        was_restored: whether the source had lost line breaks or indentation.
        is_command: whether it is a command line.
        trains: whether it trains a model, as far as can be seen.
        divides_batch: whether the batch is that of all GPUs together, and not of each.
        tensor: GPUs that share each layer.
        pipeline: stages of layers.

    Examples:
        >>> from collsim.training_scripts import read_script
        >>> part = read_script("torchrun --nnodes=2 --nproc_per_node=8 train.py --batch-size 64").parts[0]
        >>> part.launch, part.ranks, part.batch
        ('torchrun', 16, 64)
    """

    source: str
    findings: tuple[ScriptFinding, ...]
    parallelism: Parallelism
    backends: tuple[str, ...]
    launch: str
    model: str = ""
    parameters: int = 0
    batch: int | None = None
    ranks: int | None = None
    was_restored: bool = False
    is_command: bool = False
    trains: bool = True
    divides_batch: bool = False
    tensor: int = 1
    pipeline: int = 1

    @cached_property
    def corrected(self) -> str:
        """The source with every correction applied; the source itself where there is none."""
        text, findings = self.source, self.findings
        for _ in range(_MAX_ROUNDS):
            edits = [edit for finding in findings for edit in finding.edits]
            if not edits or self.is_command:
                break
            text = apply_edits(text, edits)
            findings = find_mistakes(parse_script(text))
        return text

    @property
    def first_line(self) -> str:
        """Its first line that is no comment, as a title."""
        lines = [
            line.strip() for line in self.source.splitlines() if line.strip() and not line.lstrip().startswith("#")
        ]
        return re.sub(r"\s+", " ", (lines or [""])[0])[:_LONGEST_TITLE]

    def to_dict(self, language: str = "en") -> dict[str, object]:
        """What was read, as plain data.

        Args:
            language: of its sentences.
        """
        return {
            "summary": self.describe(language),
            **{name: getattr(self, name) for name in _FIELDS},
            "backends": list(self.backends),
            "findings": [finding.to_dict(language) for finding in self.findings],
        }

    def describe(self, language: str = "en") -> str:
        """What it does, in one or two sentences.

        Args:
            language: of the sentences.
        """
        if not self.trains:
            return translate(language, "scripts", "does.program")
        backends = ", ".join(self.backends) or translate(language, "scripts", "backend.unsaid")
        does, values = self.parallelism.lower(), {"backend": backends, "tensor": self.tensor, "pipeline": self.pipeline}
        if self.tensor * self.pipeline > 1:
            does = "split"
        elif self.is_command and does == "none":
            does = "unseen"  # the command names a script and does not show it
        sentences = [translate(language, "scripts", f"does.{does}", **values)]
        if self.launch in ("spawn", "python") or (self.launch == "torchrun" and not self.is_command):
            sentences.append(translate(language, "scripts", f"launch.{self.launch}"))
        else:
            count = str(self.ranks or translate(language, "scripts", "ranks.each_gpu"))
            sentences.append(translate(language, "scripts", "launch.other", launcher=self.launch, ranks=count))
        if self.model:
            sentences.append(translate(language, "scripts", "model.named", model=self.model))
        elif self.parameters:
            sentences.append(translate(language, "scripts", "model.counted", parameters=f"{self.parameters:,}"))
        if self.batch is not None:
            sentences.append(translate(language, "scripts", "batch", batch=self.batch))
        return translate(language, "scripts", "space").join(sentences)


@dataclass(frozen=True)
class ScriptReading:
    """What `read_script` found.

    Attributes:
        parts: the scripts and commands of what was given, in their order.

    Examples:
        >>> from collsim.training_scripts import read_script
        >>> reading = read_script("python -m torch.distributed.launch --nproc_per_node 2 train.py")
        >>> reading.is_right, [finding.key for finding in reading.findings]
        (True, ['old_launcher'])
    """

    parts: tuple[ScriptPart, ...]

    @property
    def findings(self) -> tuple[ScriptFinding, ...]:
        """The findings of all parts; their lines count in the source of the part."""
        return tuple(finding for part in self.parts for finding in part.findings)

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong or missing; notes do not count."""
        return all(finding.severity == "note" for finding in self.findings)

    def explanation(self, language: str = "en") -> str:
        """What the scripts do, and each finding with its line and reason.

        Args:
            language: of the text.

        Returns:
            Lines of plain text.
        """
        lines: list[str] = []
        for number, part in enumerate(self.parts, 1):
            if len(self.parts) > 1:
                lines.append(translate(language, "scripts", "part", number=number, first=part.first_line))
            lines.append(part.describe(language))
            if part.was_restored:
                lines.append(translate(language, "scripts", "restored"))
            for finding in part.findings:
                head = translate(language, "scripts", f"severity.{finding.severity}", line=finding.line)
                words = (head, finding.text(language), finding.reason(language))
                lines.append(translate(language, "scripts", "space").join(words))
            if not part.findings:
                lines.append(translate(language, "scripts", "nothing"))
        return "\n".join(lines)

    def to_dict(self, language: str = "en") -> dict[str, object]:
        """The reading as plain data.

        Args:
            language: of its sentences.
        """
        return {"right": self.is_right, "parts": [part.to_dict(language) for part in self.parts]}

    def to_json(self, language: str = "en") -> str:
        """The reading as JSON.

        Args:
            language: of its sentences.
        """
        return json.dumps(self.to_dict(language), ensure_ascii=False, indent=2)


@check_arguments
def read_script(source: str | os.PathLike[str]) -> ScriptReading:
    """Read a training script of PyTorch, a command line that starts one, or an article with both.

    Only the text is read: nothing of it runs, and nothing needs torch. Code that a web page has robbed of its line
    breaks or indentation is put back; of an article its code blocks and commands are read.

    Args:
        source: at most 200,000 characters, or a file as a `pathlib.Path` (a text is never read as the name of a file).

    Returns:
        What each script does, what is wrong or missing in it with line, reason and correction.

    Raises:
        CollsimError: there is neither a script nor a command in it.

    Examples:
        >>> from collsim.training_scripts import read_script
        >>> reading = read_script("python main.py -b 512 --dist-backend nccl -a resnet18 imagenet/")
        >>> [finding.key for finding in reading.findings]
        ['ignored_backend']
        >>> reading.parts[0].batch
        512
    """
    source = read_source(source)
    if len(source) > MAX_CHARACTERS:
        message = "the script has {length:,} characters; at most {most:,} are read"
        raise CollsimError(message, length=len(source), most=MAX_CHARACTERS)
    try:
        return ScriptReading(tuple(_read_parts(source)))
    except CollsimError:  # a ValueError, too, with a better sentence
        raise
    except (RecursionError, MemoryError, ValueError) as error:  # too deep, or a number too long to write
        raise CollsimError("the script cannot be read: {reason}", reason=type(error).__name__) from None


def _read_parts(source: str) -> Iterator[ScriptPart]:
    code = find_code(source)
    scripts = 0
    for text, was_restored in code.scripts:
        try:
            facts = parse_script(text)
        except CollsimError:
            if len(code.scripts) > 1 or code.commands:
                continue  # a fragment of an article
            raise
        if not facts.tree.body:
            continue
        scripts += 1
        yield _read_facts(facts, was_restored)
    commands = 0
    for text in code.commands:
        try:
            command = read_command_line(text)
        except CollsimError:
            if scripts or len(code.commands) > 1:
                continue  # a line of an article, such as `python --version`
            raise
        commands += 1
        yield _read_command(command)
    if not scripts and not commands:
        raise CollsimError("there is neither a script nor a command line in the text")


def _read_facts(facts: ScriptFacts, was_restored: bool) -> ScriptPart:
    parallelism: Parallelism = "none"
    if facts.is_sharded:
        parallelism = "FSDP"
    elif facts.ddp:
        parallelism = "DDP"
    elif facts.data_parallel:
        parallelism = "DataParallel"
    if facts.spawns:
        launch = "spawn"
    elif facts.groups or facts.ddp:
        launch = "torchrun"
    else:
        launch = "python"
    return ScriptPart(
        source=facts.source,
        findings=find_mistakes(facts),
        parallelism=parallelism,
        backends=tuple(facts.list_backends()),
        launch=launch,
        model=_find_model(facts),
        parameters=_count_parameters(facts),
        batch=_find_batch(facts),
        was_restored=was_restored,
        trains=bool(facts.wrappers or facts.find_methods("backward", "fit", "train", "prepare")),
    )


def _read_command(command: CommandLine) -> ScriptPart:
    parallelism: Parallelism = "none"
    if command.is_imagenet_example:
        parallelism = "DataParallel"
        if command.starts_group:
            parallelism = "DDP"
    ranks = None
    starts_itself = command.is_imagenet_example and command.launcher == "python"  # a process for each GPU, or one
    if command.ranks_per_node is not None and not starts_itself:
        ranks = command.nodes * command.ranks_per_node
    backends: tuple[str, ...] = ()
    if command.backend and command.starts_group:
        backends = (command.backend,)
    tensor, pipeline = command.split
    return ScriptPart(
        source=command.text,
        findings=tuple(find_command_mistakes(command)),
        parallelism=parallelism,
        backends=backends,
        launch=command.launcher,
        model=_find_library_model(command.model),
        batch=command.batch,
        ranks=ranks,
        is_command=True,
        divides_batch=command.divides_batch,
        tensor=tensor,
        pipeline=pipeline,
    )


# ---- the model -------------------------------------------------------------------------------------------------------


def _find_model(facts: ScriptFacts) -> str:
    """A model of the library that the script makes by its name."""
    for call in facts.calls:
        words: list[object] = []
        if call.method in ("from_pretrained", "get_model", "create_model"):
            words += [part.value for part in call.node.args if isinstance(part, ast.Constant)]
        elif call.path.startswith(("torchvision.models.", "models.")):
            words.append(call.method)
        for word in words:
            if isinstance(word, str) and (model := _find_library_model(word)):
                return model
    return ""


def _find_library_model(word: str) -> str:
    from ..train import models  # late: most scripts name none, and the reader starts without the package of training

    plain = word.rpartition("/")[2].lower().removesuffix("-uncased").removesuffix("-cased").removesuffix("-hf")
    if plain in models():
        return plain
    return ""


def _count_parameters(facts: ScriptFacts) -> int:
    """Weights and biases of layers whose sizes are numbers; 0 as soon as one is not."""
    count = 0
    for call in facts.calls:
        if not call.path.startswith("torch.nn.") or call.loops:
            continue
        numbers = [part.value for part in call.node.args if isinstance(part, ast.Constant)]
        sizes = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool)]
        wanted = {"Linear": 2, "Conv2d": 3, "Embedding": 2, "BatchNorm2d": 1, "LayerNorm": 1}.get(call.method)
        if wanted is None:
            continue
        if len(sizes) < wanted:
            return 0
        has_bias = not any(keyword.arg == "bias" and is_false(keyword.value) for keyword in call.node.keywords)
        if call.method == "Linear":
            count += sizes[0] * sizes[1] + has_bias * sizes[1]
        elif call.method == "Conv2d":
            count += sizes[0] * sizes[1] * sizes[2] ** 2 + has_bias * sizes[1]
        elif call.method == "Embedding":
            count += sizes[0] * sizes[1]
        else:
            count += 2 * sizes[0]
    if not 0 <= count <= _MAX_PARAMETERS:
        return 0
    return count


def _find_batch(facts: ScriptFacts) -> int | None:
    for call in facts.find_calls("torch.utils.data.DataLoader"):
        argument = call.get_argument(1, "batch_size")
        if argument is None:
            continue
        values = facts.list_values(argument)
        defaults = [facts.option_defaults[name] for name in map(ast.unparse, values) if name in facts.option_defaults]
        for value in (*values, *defaults):
            if isinstance(value, ast.Constant) and isinstance(value.value, int) and 0 < value.value <= MAX_SAMPLES:
                return value.value
    return None
