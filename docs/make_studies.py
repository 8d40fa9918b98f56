"""Write docs/studies.md: each script of docs/studies with what it prints and its picture. `python
docs/make_studies.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUDIES = Path(__file__).parent / "studies"
ORDER = ("nvlink_bridges", "lost_rail", "pcie_or_dgx", "oversubscription")
HEAD = """# Studies

Questions for a purchase or a placement, each a script of at most 15 lines. Made by `python docs/make_studies.py`,
which runs them; the
tests check that what they print is still so. Engine lockstep, nominal bandwidths.
"""


def page(pictures: Path = STUDIES) -> str:
    """The page, from running every script; each writes its picture into the folder `pictures`."""
    parts = [HEAD]
    for name in ORDER:
        script = (STUDIES / f"{name}.py").read_text(encoding="utf-8")
        question = script.split('"""')[1]
        done = subprocess.run(
            [sys.executable, str(STUDIES / f"{name}.py")], cwd=pictures, capture_output=True, text=True, check=True
        )
        code = script.split('"""', 2)[2].strip()
        parts.append(
            "## "
            f"{question}\n\n```python\n{code}\n```\n\n```text\n{done.stdout.strip()}\n```\n\n![{question}](studies/{name}.png)\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    (STUDIES.parent / "studies.md").write_text(page(), encoding="utf-8")
