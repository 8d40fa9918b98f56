"""The step of the page Train as Python and as a command line: text that is ready to copy and gives the same figures."""

from __future__ import annotations

from ...scenario import snippets
from .asked import CHANGES, TrainingChoice, code, options

_FLAGS = {
    "view": "--view",
    "find_unused": "--find-unused",
    "overlap": "--no-overlap",
}


def script(choice: TrainingChoice) -> str:
    """A script that prints the figures and the sentences."""
    parallel, words = code(choice)
    more = "".join(f", {name}={value!r}" for name, value in words.items())
    lines = [
        "import collsim as cs",
        "",
        f"m = {snippets.place(choice.where)}",
        f"t = cs.training_step({choice.model!r}, m, parallel={parallel}{more})",
        *([f"t = t.what_if({', '.join(f'{k}={v!r}' for k, v in choice.switched.items())})"] if choice.switched else []),
        "print(t)",
        "print(t.explain())",
    ]
    return "\n".join(lines).replace("'", '"') + "\n"


def command(choice: TrainingChoice) -> str:
    """The command that prints the same figures; a network twice as fast is only to be had in Python."""
    words = ["collsim", "train", choice.model, *snippets.place_words(choice.where)]
    words += ["--micro-batch", str(choice.samples), "--dtype", choice.dtype]
    words += ["--optimizer", choice.optimizer] if choice.optimizer != "adam" else []
    words += ["--compute", choice.speed_of] if choice.speed_of else []
    words += ["--interference", choice.interference] if choice.interference else []
    words += ["--network", choice.timing] if choice.timing != "alone" else []
    words += ["--parallel", choice.way] if choice.way != "ddp" else []
    given = options(choice)
    for name in choice.changes:
        if name in choice.offered and name not in ("network", "first"):
            given |= CHANGES[name]
    for name, value in given.items():
        words += _option(name, value)
    words += ["--first-step"] if "first" in choice.changes and choice.way == "ddp" else []
    return " ".join(map(snippets.quoted, words))


def _option(name: str, value: object) -> list[str]:
    if name == "nccl":
        return ["--no-nccl"]
    if name == "synchronous":
        return ["--asynchronous"]
    return [_FLAGS[name]] if name in _FLAGS else [f"--{name}", str(value)]
