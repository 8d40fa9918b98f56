"""A module imports only from layers below its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "collsim"

# Lowest first; modules of one layer are blind to each other unless BESIDE says otherwise.
LAYERS = [
    {"package_data"},
    {"locale", "interrupts"},
    {"errors"},
    {"dtypes"},
    {"units", "display", "files", "steps", "maxflow", "plugins"},
    {"limits"},
    {"collective", "rank_engine", "topology", "schedule"},
    {"topology_names"},
    {"registry", "trees"},
    {"algorithms", "sandbox"},
    {"simulate", "replay", "verify", "bounds"},
    {"faults"},
    {"nccl", "io", "programs"},
    {"analysis", "synthesis", "train"},
    {"lab", "diagnosis", "inference", "purchases", "training_scripts"},
    {"viz", "sweep", "teach"},
    {"lessons"},
    {"site"},
    {"app", "cli"},
    {"__init__", "__main__"},
]
BESIDE = {("verify", "replay"), ("simulate", "bounds")}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements of a module: imports are among them, and expressions are nine nodes of ten."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from statements(child)


def imported(path: Path) -> set[str]:
    """Packages of collsim that a file imports."""
    package = ["collsim", *path.relative_to(ROOT).parts[:-1]]
    found = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names} if module == "collsim" else {module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("collsim.")}


def test_every_module_imports_only_from_layers_below():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        package = path.relative_to(ROOT).parts[0].removesuffix(".py")
        assert package in LEVEL, f"{path}: say in LAYERS where {package!r} belongs"
        for other in imported(path) - {package}:
            if LEVEL[other] >= LEVEL[package] and (package, other) not in BESIDE:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert not wrong, wrong


def test_drawing_belongs_in_viz_only():
    users = {
        p.relative_to(ROOT).parts[0]
        for p in ROOT.rglob("*.py")
        if "import matplotlib" in (t := p.read_text()) or "from matplotlib" in t
    }
    assert users <= {"viz", "errors"}, users  # an error names the extra that brings it
