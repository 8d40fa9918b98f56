import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # solutions.py, which several test files share


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    """Every test has a progress file of its own."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COLLSIM_PROGRESS", str(path))
    return path
