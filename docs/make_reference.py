"""Write the pages of the reference (`docs/reference/`): one entry per public name, which mkdocstrings fills from its
docstring: `make docs`. A test checks that they are current and that no public name is missing.

Chinese pages have a Chinese summary above each docstring. `docs/summaries/` stores it next to the English sentence that
it translates, so a test finds a summary whose docstring has changed.
"""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import make_reference_figures
from make_gallery import EXHIBITS

import collsim as cs
from collsim.locale import load_messages

HERE = Path(__file__).parent / "reference"
SUMMARIES = Path(__file__).parent / "summaries"
LANGUAGES = ("en", "zh")
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
    "inference": (
        "Inference",
        "A prompt and a token on several GPUs; see [serving a model](../howto/inference.md).",
        "",
        ("inference",),
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
    "Training": ("training", "inference", "training_scripts"),
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
    "inference": ("inference",),
    "training_scripts": ("script",),
    "nccl": ("measured",),
    "diagnosis": ("diagnosis",),
    "teaching": ("lessons",),
    "pictures": ("explore",),
}
#: Figures of the gallery that show what a name means or returns; `make_reference_figures.py` draws the others.
FIGURES: dict[str, str] = {
    "Schedule": "gantt-ring",
    "load_topology": "machine-pcie",
    "machine": "machine-dgx",
    "Topology": "machine-cluster",
    "simulate": "ring",
    "Trace": "volume",
    "compare": "time-over-size",
    "best": "winner-map",
    "analysis.compare_runs": "differences",
    "analysis.sensitivity": "tornado",
    "sweep": "busbw-over-size",
    "nccl.compare_ring_and_tree": "nccl-crossover",
    "nccl.predict_choices": "nccl-map",
    "training_step": "step-ddp",
    "fsdp": "step-fsdp",
    "pipeline": "step-pipeline",
    "parameter_server": "gantt-server",
    "train.StepTrace": "step-ddp",
    "viz.pictures.plots.busbw_over_size": "busbw-over-size",
    "viz.pictures.plots.differences": "differences",
    "viz.pictures.plots.gantt": "gantt-tree",
    "viz.pictures.plots.link_utilisation": "links-ring",
    "viz.pictures.plots.time_over_size": "time-over-size",
    "viz.pictures.plots.tornado": "tornado",
    "viz.pictures.plots.volume_over_time": "volume",
    "viz.pictures.plots.winner_map": "winner-map",
}
APP = "http://localhost:8501"
#: What the first page of the reference says before its tables, and the heads of their columns.
INDEX = {
    "en": """# Reference

All public names in Python, generated from the docstrings. Write `import collsim as cs` first. Sizes are bytes or
texts such as `"64MiB"`, times are seconds, and rates are bytes per second in one direction of a cable. An invalid
input raises a `CollsimError` with the value, its position and the remedy.

The links in the column *app* open pages of the app, which `collsim app` starts.
""",
    "zh": """# API 参考

所有公开的 Python 名字，由 docstring 生成：先是中文摘要，再是英文原文。先写 `import collsim as cs`。
大小为字节数或 `"64MiB"` 这样的文本，时间以秒计，速率是线缆单方向每秒的字节数。
输入有误时抛出 `CollsimError`，给出出错的值、位置和改法。

“应用”一列的链接打开应用的页面；先用 `collsim app` 启动应用。
""",
}
COLUMNS = {"en": ("page", "what", "app"), "zh": ("页面", "内容", "应用")}
#: The line under the title of a page that names pages of the app.
IN_APP = {
    "en": "In the app, which `collsim app` starts: {links}.",
    "zh": "在应用里（先用 `collsim app` 启动）：{links}。",
}
#: The Chinese names of the groups; `mkdocs.yml` has the same for the menu.
CHINESE_GROUPS = {
    "Schedules": "调度",
    "Machines": "机器",
    "Time": "时间",
    "Training": "训练",
    "NCCL": "NCCL",
    "Teaching and pictures": "教学与图片",
    "Files, units and errors": "文件、单位与错误",
}


def written(name: str) -> str:
    """How people write a name: `cs.simulate`, `cs.nccl.predict`; `collsim.sweep.read_plan`, since `cs.sweep` is a
    function."""
    namespace, dot, _ = name.partition(".")
    if not dot or (namespace in cs.__all__ and inspect.ismodule(getattr(cs, namespace))):
        return f"cs.{name}"
    return f"collsim.{name}"


def summarize(thing: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def read_summaries(page: str) -> Any:
    """The Chinese texts of a page: its title, its lead, and each name with the English and the Chinese summary."""
    return json.loads((SUMMARIES / f"{page}.json").read_text(encoding="utf-8"))


def write_entry(name: str, thing: Any, chinese: str) -> str:
    """The lines that mkdocstrings takes for one name; its place in the sources is where it was defined.

    Args:
        name: What people write after `cs.`.
        thing: The function or class.
        chinese: Its Chinese summary, or nothing on an English page.
    """
    home = f"{thing.__module__}.{thing.__qualname__}"
    lines = [f"::: {home}", "    options:", f"      heading: {written(name)}", f"      toc_label: {name}"]
    if chinese:
        summary = json.dumps(chinese, ensure_ascii=False)
        lines += ["      extra:", "        language: zh", f"        summary: {summary}"]
    return "\n".join(lines) + "\n"


def write_figure(name: str, language: str) -> str:
    """The lines that show the figure of a name, with a link to the lines that drew one of the gallery; else nothing."""
    k = LANGUAGES.index(language)
    if name in FIGURES:
        (exhibit,) = (exhibit for exhibit in EXHIBITS if exhibit.name == FIGURES[name])
        picture = f"../gallery/{exhibit.name}.{language}.light.png"
        source = {"en": "its lines: [gallery](../gallery.md)", "zh": "代码见[图库](../gallery.md)"}[language]
        return f"![{exhibit.titles[k]}]({picture})\n\n*{exhibit.titles[k]}* ({source})\n"
    titles = make_reference_figures.list_figures()
    if name in titles:
        path = make_reference_figures.find_path(name, language)
        return f"![{titles[name][k]}](figures/{path.name})\n\n*{titles[name][k]}*\n"
    return ""


def offered(package: str) -> dict[str, Any]:
    """Functions and classes of a package, by name."""
    module = import_module(f"collsim.{package}")
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    members = {f"{package}.{name}": inspect.unwrap(getattr(module, name)) for name in names}
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


def describe_page(page: str, language: str) -> tuple[str, str]:
    """Title and lead of a page in a language."""
    title, lead, _, _ = PAGES[page]
    if language == "zh":
        texts = read_summaries(page)
        title, lead = texts["title"], texts["lead"]
    return title, lead


def link_app_pages(page: str, language: str) -> list[str]:
    """Links to the pages of the app that show what a page has."""
    texts = load_messages(language, "app")
    return [f"[{texts[f'page.{name}']}]({APP}/{name})" for name in APP_PAGES.get(page, ())]


def write_page(page: str, language: str) -> str:
    """The text of a page of names."""
    _, _, names, packages = PAGES[page]
    title, lead = describe_page(page, language)
    parts = [f"# {title}\n", f"{lead}\n"]
    if links := link_app_pages(page, language):
        parts.append(IN_APP[language].format(links={"en": ", ", "zh": "、"}[language].join(links)) + "\n")
    chinese = {}
    if language == "zh":
        chinese = {name: texts["zh"] for name, texts in read_summaries(page)["names"].items()}
    for name, thing in entries(names, packages).items():
        parts.append(write_entry(name, thing, chinese.get(name, "")))
        if figure := write_figure(name, language):
            parts.append(figure)
    return "\n".join(parts)


def write_index(language: str) -> str:
    """The first page: all others in their groups, with the pages of the app that show the same."""
    parts = [INDEX[language]]
    for group, pages in GROUPS.items():
        rows = []
        for page in pages:
            title, lead = describe_page(page, language)
            links = {"en": ", ", "zh": "、"}[language].join(link_app_pages(page, language))
            rows.append(f"| [{title}]({page}.md) | {lead} | {links} |\n")
        heading = CHINESE_GROUPS[group] if language == "zh" else group
        parts.append(f"## {heading}\n\n| {' | '.join(COLUMNS[language])} |\n|---|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """The text of every file of the reference by its name."""
    texts = {}
    for language in LANGUAGES:
        suffix = {"en": ".md", "zh": ".zh.md"}[language]
        texts |= {f"{page}{suffix}": write_page(page, language) for page in PAGES}
        texts[f"index{suffix}"] = write_index(language)
    return texts


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
