"""The notebooks as their tests read them."""

import json
import re

from make_notebooks import FOLDERS

ROOT = FOLDERS["en"]
NAMES = sorted(p.name for p in ROOT.glob("*.ipynb"))
#: Where an exercise is checked: its name, and what is given.
CHECKED = re.compile(r'exercise\("([\w-]+)", language\)\.check\((.*)\)')


def cells(name, language="en"):
    return json.loads((FOLDERS[language] / name).read_text(encoding="utf-8"))["cells"]


def text(cell):
    return "".join(cell["source"])


def code(name, language="en"):
    return "\n".join(text(cell) for cell in cells(name, language) if cell["cell_type"] == "code")
