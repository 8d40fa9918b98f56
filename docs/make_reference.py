"""Write the pages of the reference (`docs/reference/`): one entry per public name, which mkdocstrings fills from its
docstring: `make docs`. A test checks that they are current and that no public name is missing."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import collsim as cs

HERE = Path(__file__).parent / "reference"
#: Names that the package itself offers (`cs.name`) and packages of which all names are listed (`cs.package.name`),
#: by page.
PAGES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "schedules": (
        "Schedules",
        "Who sends what: a schedule is a table of transfers in steps; an algorithm is a function that makes one.",
        "algorithm algorithms registered schedule Algorithm Schedule copy reduce verify replay collectives",
        ("steps", "collective", "dtypes"),
    ),
    "topologies": (
        "Topologies",
        "Ranks, devices, links and the routes between them.",
        "machine machines load_topology Topology",
        ("topology",),
    ),
    "simulation": (
        "Simulation",
        "From a schedule and a topology to times.",
        "simulate simulate_many Trace lower_bound",
        ("simulate", "bounds"),
    ),
    "analysis": (
        "Analysis",
        "What is best, where it changes, what it hangs on.",
        "best crossover compare",
        ("analysis",),
    ),
    "sweeps": ("Sweeps", "Many scenarios at once; see [sweeps](../sweeps.md).", "sweep", ("sweep",)),
    "nccl": (
        "NCCL",
        "What NCCL would choose and how long it would take; see [accuracy](../accuracy.md).",
        "",
        ("nccl",),
    ),
    "training": (
        "Training",
        "One step of training; see [training steps](../training.md).",
        "training_step best_parallel model models ddp data_parallel parameter_server zero fsdp tensor context expert "
        "pipeline",
        ("train",),
    ),
    "purchases": (
        "Purchases",
        "What to buy first; see [what to buy first](../howto/buy-first.md).",
        "upgrades",
        ("purchases",),
    ),
    "programs": (
        "Rank programs",
        "A rank program, run on all ranks; see [rank programs](../programs.md).",
        "program",
        ("programs",),
    ),
    "training_scripts": (
        "Training scripts",
        "Scripts of PyTorch, read and not run; see [read a training script](../howto/training-script.md).",
        "",
        ("training_scripts",),
    ),
    "diagnosis": (
        "Diagnosis",
        "Why a job is slow or dies; see [my job is slow](../howto/slow-job.md).",
        "diagnose",
        ("diagnosis",),
    ),
    "real": (
        "Measured runs",
        "A schedule, measured on this computer and compared with its prediction; see [measured runs](../real.md).",
        "run_for_real",
        ("lab",),
    ),
    "synthesis": (
        "Synthesis",
        "A schedule for a machine, found, and what is proved of it; see [synthesis](../synthesis.md).",
        "synthesize",
        ("synthesis",),
    ),
    "teaching": (
        "Teaching",
        "Exercises, questions, mistakes, grading.",
        "exercise grade",
        ("teach",),
    ),
    "files": (
        "Files",
        "What is read and written; see [formats](../formats.md).",
        "load save",
        ("io",),
    ),
    "pictures": ("Pictures", "Player, pictures and plots; `collsim.viz`.", "", ("viz", "viz.pictures.plots")),
    "units": (
        "Units and limits",
        "Texts into numbers and back; how much memory one question may take.",
        "format_bytes format_time format_bandwidth size_range",
        ("units", "limits", "display.catalog"),
    ),
    "errors": (
        "Errors",
        "Every error is a `CollsimError`; in Chinese by `error.text('zh')`.",
        "CollsimError FormatError ScheduleError TopologyError",
        ("errors",),
    ),
}


def written(name: str) -> str:
    """How people write a name: `cs.simulate`, `cs.nccl.predict`; `collsim.sweep.read_plan`, since `cs.sweep` is a
    function."""
    namespace, dot, _ = name.partition(".")
    if not dot or (namespace in cs.__all__ and inspect.ismodule(getattr(cs, namespace))):
        return f"cs.{name}"
    return f"collsim.{name}"


def entry(name: str, thing: Any) -> str:
    """The lines that mkdocstrings takes for one name; its place in the sources is where it was defined."""
    home = f"{thing.__module__}.{thing.__qualname__}"
    return f"::: {home}\n    options:\n      heading: {written(name)}\n      toc_label: {name}\n"


def offered(package: str) -> dict[str, Any]:
    """Functions and classes of a package, by name."""
    module = import_module(f"collsim.{package}")
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    members = {f"{package}.{name}": getattr(module, name) for name in names}
    return {name: thing for name, thing in members.items() if described(thing, package)}


def described(thing: Any, package: str) -> bool:
    """Whether it is a function or class of collsim's own that a page can describe."""
    is_own = str(getattr(thing, "__module__", "")).startswith(f"collsim.{package.split('.')[0]}")
    return is_own and hasattr(thing, "__qualname__") and (inspect.isclass(thing) or callable(thing))


def entries(names: str, packages: tuple[str, ...]) -> dict[str, Any]:
    """What one page describes, by the name that people write; nothing twice."""
    members = {name: inspect.unwrap(getattr(cs, name)) for name in names.split()}
    for package in packages:
        for name, thing in offered(package).items():
            if all(thing is not other for other in members.values()):
                members[name] = thing
    return {name: thing for name, thing in members.items() if hasattr(thing, "__qualname__")}


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    texts = {}
    for page, (title, lead, names, packages) in PAGES.items():
        parts = [entry(name, thing) for name, thing in entries(names, packages).items()]
        texts[page] = f"# {title}\n\n{lead}\n\n" + "\n".join(parts)
    return texts


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / f"{page}.md").write_text(text, encoding="utf-8")
