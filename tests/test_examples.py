"""The examples in docstrings run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "collsim"
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_every_example_prints_what_it_says(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # for those that write a file
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed
