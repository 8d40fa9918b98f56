"""The step of the page Train as Python and as a command line: text that is ready to copy and gives the same figures."""

from __future__ import annotations

from ...scenario import snippets
from .training_choice import CHANGES, TrainingChoice, build_arguments, list_options, name_speed

#: What the command does unless it is told otherwise.
_USUAL = {"optimizer": "adam", "network": "alone", "parallel": "ddp"}
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
    model = repr(choice.model)
    if choice.model_options or choice.has_narrow_weights:
        model = snippets.write_call("cs.model", model, **choice.model_options)
    if choice.has_narrow_weights:
        model += f".to({choice.dtype!r})"
    more = [f"{name}={value}" for name, value in words.items()]
    lines = [
        f"m = {snippets.write_machine(choice)}",
        f"t = {snippets.write_call('cs.training_step', model, 'm', f'parallel={parallel}', *more)}",
    ]
    if choice.switched:
        lines.append(f"t = {snippets.write_call('t.what_if', **choice.switched)}")
    return snippets.write_script(*lines, "print(t)", "print(t.explain())")


def build_command(choice: TrainingChoice) -> str:
    """The command that prints the same figures; a network twice as fast is only to be had in Python.

    Args:
        choice: The step of training that is chosen.
    """
    words = ["collsim", "train", choice.model, *snippets.write_machine_words(choice)]
    settings = {
        "micro_batch": choice.samples,
        "dtype": choice.dtype,
        "optimizer": choice.optimizer,
        "weights": choice.has_narrow_weights and choice.dtype,
        "attention": choice.model_options and choice.attention,
        "compute": name_speed(choice),
        **choice.eager_options,
        "interference": choice.interference,
        "network": choice.timing,
        "parallel": choice.strategy,
    }
    unusual = {name: value for name, value in settings.items() if value and value != _USUAL.get(name)}
    words += snippets.list_option_words(unusual)
    values = list_options(choice)
    for name in choice.changes:
        if name in choice.offered and name not in ("network", "first"):
            values |= CHANGES[name]
    for name, value in values.items():
        words += _format_option(name, value)
    # The first step belongs to DDP, whose buckets are rebuilt after it.
    if "first" in choice.changes and choice.strategy == "ddp":
        words += ["--first-step"]
    return snippets.join_words(words)


def _format_option(name: str, value: object) -> list[str]:
    if name == "nccl":
        return ["--no-nccl"]
    if name == "synchronous":
        return ["--asynchronous"]
    if name in _FLAGS:
        return [_FLAGS[name]]
    return [f"--{name}", str(value)]
