"""One ES module out of several: what the player's hosts load is one text, its source are modules that import one
another.

No bundler: imports are followed, their lines dropped, and the files put one after another, each after those it needs.
That is enough because the files keep to one form of import and no two of them use one name; both are checked here.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

HERE = Path(__file__).parents[2]
_IMPORT = re.compile(r'^import \{([\w\s,$]*)\} from "(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^(?:export (?:default )?)?(?:async function|function|const|let|class) ([\w$]+)", re.MULTILINE)
_TWO = re.compile(r"^(?:export )?(?:const|let) .*[^(\[{=>\s],\n", re.MULTILINE)


@functools.cache
def bundle_modules(entry: str) -> str:
    """The text of one ES module: `entry`, a path below the package, and before it all that it imports; its default
    export alone is left.

    Args:
        entry: Path of the first module, below the package.

    Raises:
        ValueError: An import has another form than `import { a, b } from "./c.js";`, or two files declare one name.
    """
    order: list[Path] = []
    _collect_modules((HERE / entry).resolve(), order, set())
    owner: dict[str, Path] = {}
    parts = []
    for path in order:
        text = _IMPORT.sub("", path.read_text(encoding="utf-8"))
        if unsupported := re.search(r"^(?:import\b|export (?:\*|\{)).*", text, re.MULTILINE):
            raise ValueError(
                f'{path.name}: {unsupported[0]!r} cannot be joined; write import {{ a, b }} from "./c.js";'
            )
        if several_names := _TWO.search(text):
            raise ValueError(
                f"{path.name}: {several_names[0].rstrip()!r} goes on with another name; "
                "give each a statement of its own"
            )
        for name in _DECLARED.findall(text):
            if name in owner:
                raise ValueError(
                    f"{name} is declared in {owner[name].name} and in {path.name}; joined they would clash"
                )
            owner[name] = path
        # anywidget takes a named export `render` for its own, so what modules export to one another stays inside.
        parts.append(re.sub(r"^export (?!default\b)", "", text, flags=re.MULTILINE).strip())
    return "\n\n".join(parts) + "\n"


def _collect_modules(path: Path, order: list[Path], seen: set[Path]) -> None:
    """Files in the order in which a browser would run them: what is imported first (modules may import each other in a
    circle)."""
    seen.add(path)
    for _, target in _IMPORT.findall(path.read_text(encoding="utf-8")):
        imported = (path.parent / target).resolve()
        if imported not in seen:
            _collect_modules(imported, order, seen)
    order.append(path)
