"""The code in a text: a script as it is, or the code blocks and command lines of an article."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..rank_engine.pasted_source import is_python, restore_source
from .commands import expand_variables, find_command_lines

_FENCE = re.compile(r"```[ \t]*([\w+-]*)[ \t]*\n?(.*?)```", re.DOTALL)
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
#: How a line of code begins in an article that marks its code by nothing but a line of its own.
_CODE = re.compile(
    r"^\s*(?:import |from \w|def |class |for |while |if |elif |else:|try:|except|finally:|with |return\b|@|#|pass$"
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])?\s*[-+*/]?=[^=]|[A-Za-z_][\w.]*\(|\)|\]|\})"
)
#: A block of code has at least so many lines, one of which imports, calls or assigns.
_FEWEST_LINES = 2


@dataclass(frozen=True)
class CodeBlocks:
    """The code of a text.

    Attributes:
        scripts: sources, each with whether its lost line breaks or indentation were put back.
        commands: command lines.
    """

    scripts: tuple[tuple[str, bool], ...]
    commands: tuple[str, ...]


def find_code(text: str) -> CodeBlocks:
    """Find scripts and commands in a text.

    Args:
        text: Python, one or several command lines, a Jupyter notebook, or an article with either.

    Returns:
        Its code. A text that is Python, or can be put back to it, is one script.
    """
    text = _unpack_notebook(text)
    blocks = [(match[1].lower(), match[2]) for match in _FENCE.finditer(text)]
    prose = _FENCE.sub("\n", text)
    is_script = not blocks and is_python(text)
    if is_script or not (blocks or _has_prose(text)):
        commands = find_command_lines(text)
        # Command lines and nothing else: each is read for itself.
        if commands and all(line.strip() in commands for line in text.splitlines() if line.strip()):
            return CodeBlocks((), tuple(commands))
        if is_script or not commands:
            return CodeBlocks((_restore(text),), ())
    commands = find_command_lines(prose)
    scripts = []
    for language, block in blocks:
        inside = find_command_lines(block)
        # A block without a language is told by what is in it.
        if language in ("bash", "sh", "shell", "console") or (inside and not is_python(block)):
            commands += inside
        else:
            scripts.append(block.strip() + "\n")
    scripts += _find_unmarked_blocks(prose, commands)
    expanded = (expand_variables(command, text) for command in commands)
    return CodeBlocks(tuple(_join_fragments(scripts)), tuple(dict.fromkeys(expanded)))


def _unpack_notebook(text: str) -> str:
    """The code of a Jupyter notebook as one block of Python, its lines of the shell as another; any other text as it
    is."""
    if not text.lstrip().startswith("{") or '"cells"' not in text:
        return text
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    lines = [line for source in sources for line in source.splitlines()]
    code = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
    commands = "\n".join(line.lstrip()[1:] for line in lines if line.lstrip().startswith("!"))
    return f"```python\n{code}\n```\n```bash\n{commands}\n```\n"


def _has_prose(text: str) -> bool:
    """Whether a line is a sentence and no code: Chinese outside a comment or a string."""
    for line in text.splitlines():
        code = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "", line).partition("#")[0]
        if _CHINESE.search(code):
            return True
    return False


def _find_unmarked_blocks(text: str, commands: list[str]) -> list[str]:
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        is_code = _CODE.match(line) and not _has_prose(line) and line.strip() not in commands
        if is_code or (blocks[-1] and not line.strip()):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    scripts = []
    for block in blocks:
        code = [line for line in block if line.strip() and not line.lstrip().startswith("#")]
        if len(code) >= _FEWEST_LINES and any("(" in line for line in code):
            scripts.append("\n".join(block).strip("\n") + "\n")
    return scripts


def _restore(script: str) -> tuple[str, bool]:
    restored = restore_source(script, guess_blocks=True)
    if restored is None:
        return script, False
    return restored.text, True


def _join_fragments(scripts: list[str]) -> list[tuple[str, bool]]:
    """Put back what scripts have lost; a block that only sets up what the next one uses is put in front of it."""
    joined_lines: list[tuple[str, bool]] = []
    prefix, was_restored = "", False
    for script in scripts:
        text, has_lost = _restore(script)
        text, has_lost = prefix + text, was_restored or has_lost
        prefix, was_restored = "", False
        if "init_process_group" in text and not re.search(r"Parallel\(|\.backward\(|all_reduce|def ", text):
            prefix, was_restored = text, has_lost
        else:
            joined_lines.append((text, has_lost))
    if prefix:
        joined_lines.append((prefix, was_restored))
    return joined_lines
