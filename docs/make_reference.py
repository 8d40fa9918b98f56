"""Write the pages of the reference (`docs/reference/`): one entry per public name, which mkdocstrings fills from its
docstring: `make docs`. A test checks that they are current and that no public name is missing."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import collsim as cs
from collsim.locale import load_messages

HERE = Path(__file__).parent / "reference"
#: Names that the package itself offers (`cs.name`) and packages of which all names are listed (`cs.package.name`),
#: by page.
PAGES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "schedules": (
        "Schedules",
        "A schedule is a table of transfers in steps. An algorithm is a function that makes one.",
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
        "The best algorithm, the sizes where it changes, and what the time depends on.",
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
        "Runs a program on all ranks and gives a verdict; see [rank programs](../programs.md).",
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
        "Schedules synthesized for a machine, and what is proved of them; see [synthesis](../synthesis.md).",
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
        "Files that collsim reads and writes; see [formats](../formats.md).",
        "load save",
        ("io",),
    ),
    "pictures": ("Pictures", "Player, pictures and plots; `collsim.viz`.", "", ("viz", "viz.pictures.plots")),
    "units": (
        "Units and limits",
        "Converts texts to numbers and back; limits the memory of one call.",
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
#: Pages of the reference in the order of the menu, by the question that a user has.
GROUPS: dict[str, tuple[str, ...]] = {
    "Schedules": ("schedules", "synthesis", "programs"),
    "Machines": ("topologies", "purchases"),
    "Time": ("simulation", "analysis", "sweeps", "real"),
    "Training": ("training", "training_scripts"),
    "NCCL": ("nccl", "diagnosis"),
    "Teaching and pictures": ("teaching", "pictures"),
    "Files, units and errors": ("files", "units", "errors"),
}
#: Pages of the app that show what a page of the reference has, by their name in the app's address.
APP_PAGES: dict[str, tuple[str, ...]] = {
    "schedules": ("explore", "write"),
    "synthesis": ("explore", "compare"),
    "programs": ("program", "hangs"),
    "topologies": ("machines",),
    "purchases": ("whatif", "train"),
    "simulation": ("explore", "race"),
    "analysis": ("compare", "whatif"),
    "sweeps": ("compare",),
    "real": ("lab",),
    "training": ("train", "pipeline", "sharding"),
    "training_scripts": ("script",),
    "nccl": ("measured",),
    "diagnosis": ("diagnosis",),
    "teaching": ("lessons",),
    "pictures": ("explore",),
}
APP = "http://localhost:8501"
INDEX = """# Reference

All public names in Python, generated from the docstrings. Write `import collsim as cs` first. Sizes are bytes or
texts such as `"64MiB"`, times are seconds, and rates are bytes per second in one direction of a cable. An invalid
input raises a `CollsimError` with the value, its position and the remedy.

The links in the column *app* open pages of the app, which `collsim app` starts.
"""


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
    return texts | {"index": format_index()}


def format_index() -> str:
    """The first page: all others in their groups, with the pages of the app that show the same."""
    texts = load_messages("en", "app")
    parts = [INDEX]
    for group, names in GROUPS.items():
        rows = []
        for name in names:
            title, lead, _, _ = PAGES[name]
            links = ", ".join(f"[{texts[f'page.{page}']}]({APP}/{page})" for page in APP_PAGES.get(name, ()))
            rows.append(f"| [{title}]({name}.md) | {lead} | {links} |\n")
        parts.append(f"## {group}\n\n| page | what | app |\n|---|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / f"{page}.md").write_text(text, encoding="utf-8")
