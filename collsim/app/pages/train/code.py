"""The step of the page Train as Python and as a command line: text that is ready to copy and gives the same figures."""

from __future__ import annotations

from ...scenario import snippets
from .training_choice import CHANGES, TrainingChoice, build_arguments, list_options

_FLAGS = {
    "view": "--view",
    "find_unused": "--find-unused",
    "overlap": "--no-overlap",
}


def build_script(choice: TrainingChoice) -> str:
    """A script that prints the figures and the sentences.

    Args:
        choice: The step of training that is chosen.
    """
    parallel, words = build_arguments(choice)
    more = "".join(f", {name}={value}" for name, value in words.items())
    options = "".join(f", {name}={value!r}" for name, value in choice.model_options.items())
    model = repr(choice.model)
    if options or choice.has_narrow_weights:
        model = f"cs.model({model}{options})"
    if choice.has_narrow_weights:
        model += f".to({choice.dtype!r})"
    lines = [
        "import collsim as cs",
        "",
        f"m = {snippets.write_machine(choice.where)}",
        f"t = cs.training_step({model}, m, parallel={parallel}{more})",
        *([f"t = t.what_if({', '.join(f'{k}={v!r}' for k, v in choice.switched.items())})"] if choice.switched else []),
        "print(t)",
        "print(t.explain())",
    ]
    return "\n".join(lines).replace("'", '"') + "\n"


def build_command(choice: TrainingChoice) -> str:
    """The command that prints the same figures; a network twice as fast is only to be had in Python.

    Args:
        choice: The step of training that is chosen.
    """
    words = ["collsim", "train", choice.model, *snippets.write_machine_words(choice.where)]
    words += ["--micro-batch", str(choice.samples), "--dtype", choice.dtype]
    if choice.optimizer != "adam":
        words += ["--optimizer", choice.optimizer]
    if choice.has_narrow_weights:
        words += ["--weights", choice.dtype]
    if choice.model_options:
        words += ["--attention", choice.attention]
    if choice.speed_of:
        words += ["--compute", choice.speed_of]
    for option, text in choice.eager_options.items():
        words += [f"--{option.replace('_', '-')}", text]
    if choice.interference:
        words += ["--interference", choice.interference]
    if choice.timing != "alone":
        words += ["--network", choice.timing]
    if choice.strategy != "ddp":
        words += ["--parallel", choice.strategy]
    values = list_options(choice)
    for name in choice.changes:
        if name in choice.offered and name not in ("network", "first"):
            values |= CHANGES[name]
    for name, value in values.items():
        words += _format_option(name, value)
    # The first step belongs to DDP, whose buckets are rebuilt after it.
    if "first" in choice.changes and choice.strategy == "ddp":
        words += ["--first-step"]
    return " ".join(map(snippets.quote_word, words))


def _format_option(name: str, value: object) -> list[str]:
    if name == "nccl":
        return ["--no-nccl"]
    if name == "synchronous":
        return ["--asynchronous"]
    if name in _FLAGS:
        return [_FLAGS[name]]
    return [f"--{name}", str(value)]
