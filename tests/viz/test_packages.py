"""The packages of viz import from one another in the order that its docstring says."""

import ast
import re
from pathlib import Path

import collsim.viz

VIZ = Path(collsim.viz.__file__).parent


def package_levels():
    """Names in the order of the docstring; those of one line do not import each other."""
    listed = [
        re.findall(r"`(\w+)`", line.split(":")[0]) for line in collsim.viz.__doc__.splitlines() if line[:2] == "- "
    ]
    return {package: level for level, names in enumerate(listed) for package in names}


def imported_packages(path):
    """Packages of viz that a file imports."""
    package = path.relative_to(VIZ).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and 1 < node.level <= 1 + len(package):
            inside = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            yield inside[0] or node.names[0].name


def test_a_package_imports_only_from_packages_before_it():
    order = package_levels()
    files = [p for p in VIZ.rglob("*.py") if p.parent != VIZ]
    assert {p.relative_to(VIZ).parts[0] for p in files} == set(order)
    pairs = {(p.relative_to(VIZ).parts[0], other) for p in files for other in imported_packages(p)}
    crossing = {(a, b) for a, b in pairs if a != b}
    assert len(crossing) > 8
    assert {(a, b) for a, b in crossing if order[b] >= order[a]} == set()
