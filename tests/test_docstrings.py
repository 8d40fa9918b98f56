"""Docstrings as griffe parses them, which fills the reference of the site: no warning in any package."""

import logging
from pathlib import Path

import griffe
import pytest

ROOT = Path(__file__).parent.parent


class Messages(logging.Handler):
    """Keeps what griffe logs from warnings on."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture
def messages():
    handler = Messages()
    logger = logging.getLogger("griffe")
    logger.addHandler(handler)
    yield handler.texts
    logger.removeHandler(handler)


def parse_all(thing):
    """Parse the docstrings of a module or class and of all that it defines."""
    if thing.docstring:
        assert thing.docstring.parsed is not None
    for member in thing.members.values():
        if not member.is_alias and (member.is_module or member.is_class or member.is_function):
            parse_all(member)


def test_no_docstring_of_any_package_has_a_warning(messages):
    package = griffe.load("collsim", search_paths=[ROOT], docstring_parser="google", resolve_aliases=False)
    parse_all(package)
    assert messages == []


def test_a_parameter_that_does_not_exist_and_an_entry_without_indent_have_warnings(messages, tmp_path):
    (tmp_path / "sample.py").write_text(
        'def scale(x: int) -> int:\n    """Double.\n\n    Args:\n        y: no parameter.\n        x: the\n'
        '        number.\n    """\n    return 2 * x\n'
    )
    parse_all(griffe.load("sample", search_paths=[tmp_path], docstring_parser="google"))
    assert len(messages) == 3
