"""Write collsim/sweep/plan.schema.json, the JSON Schema of plans, from the reader's keys and the registries: `make
docs`. A test checks that it is current."""

from __future__ import annotations

import json
from pathlib import Path

from collsim.sweep.schema import build_plan_schema

FILE = Path(__file__).parents[1] / "collsim" / "sweep" / "plan.schema.json"


def text() -> str:
    """The file as it should be."""
    return json.dumps(build_plan_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
