"""A log that comes as text, read as the file that it was. Nothing here knows Streamlit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from collsim.io import load


def load_log(text: str, name: str, **options: Any) -> Any:
    """What `load` makes of a file of this name with this text.

    Args:
        text: The text.
        name: Name of the file.
        **options: Options of the format, passed to `load`.

    Raises:
        CollsimError: for a log that is damaged
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return load(path, **options)
