"""Docstrings as griffe parses them, which fills the reference of the site: no warning in any package, and every public
name with all of its parameters, what it returns and raises, and an example."""

import ast
import inspect
import logging
import re
import textwrap
from functools import cache
from pathlib import Path

import griffe
import make_reference
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


@cache
def package():
    options = {"warn_missing_types": False}  # mypy demands types of all but algorithms, which have few
    return griffe.load("collsim", search_paths=[ROOT], docstring_parser="google", docstring_options=options)


def public_things():
    """Functions and classes of the reference, by the name that people write after `cs.`, each once."""
    things = {}
    for _, _, names, packages in make_reference.PAGES.values():
        for name, thing in make_reference.entries(names, packages).items():
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and all(thing is not t for t in things.values()):
                things[f"cs.{name}"] = thing
    return things


THINGS = public_things()
FUNCTIONS = [name for name, thing in THINGS.items() if inspect.isfunction(thing)]


def sections(thing):
    """The sections of a docstring by their kind, as griffe parses them."""
    found = package()[f"{thing.__module__}.{thing.__qualname__}".removeprefix("collsim.")]
    return {section.kind.value: section.value for section in found.docstring.parsed}


def raises_itself(function):
    """Whether it has a `raise` of its own."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@pytest.mark.slow
def test_no_docstring_of_any_package_has_a_warning(messages):
    parse_all(package())
    assert messages == []


def test_public_names_are_known():
    assert len(THINGS) > 280
    assert {"cs.simulate", "cs.train.time_faults", "cs.nccl.predict", "cs.Topology", "cs.viz.encode"} <= set(THINGS)


def undescribed_fields(source):
    """Fields of public classes that neither the class's docstring nor a comment at the field names, as `Class.field`.

    Options are left out: the functions that take them, and the help of the command line, describe them."""
    lines, missing = source.splitlines(), []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if any(ast.unparse(base).endswith(("TypedDict", "Options", "Settings")) for base in node.bases):
            continue
        text = ast.get_docstring(node) or ""
        for field in node.body:
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            name = field.target.id
            comments = lines[field.end_lineno - 1], lines[field.lineno - 2].partition("#")[1]
            is_named = re.search(rf"\b{name}\b", text) or any("#" in comment for comment in comments)
            if not name.startswith("_") and "ClassVar" not in ast.unparse(field.annotation) and not is_named:
                missing.append(f"{node.name}.{name}")
    return missing


@pytest.mark.slow
def test_the_fields_of_every_public_class_are_described():
    files = [path for path in (ROOT / "collsim").rglob("*.py") if path.parent.name != "cli"]
    missing = {path.name: fields for path in files if (fields := undescribed_fields(path.read_text(encoding="utf-8")))}
    assert len(files) > 700
    assert missing == {}


def test_a_field_without_a_description_is_found():
    source = 'class Box:\n    """A box: its `w`."""\n\n    w: float\n    h: float\n    d: float  # depth\n'
    assert undescribed_fields(source) == ["Box.h"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_describes_each_parameter_its_result_and_its_errors(name):
    function = THINGS[name]
    parsed = sections(function)
    described = [entry.name.strip("*") for entry in parsed.get("parameters", [])]
    assert described == list(inspect.signature(function).parameters)
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert {"returns", "yields"} & set(parsed)
    if raises_itself(function):
        assert "raises" in parsed


def public_methods():
    """Methods that the classes of the reference define themselves, by the name that people write."""
    for name, thing in THINGS.items():
        for key, member in vars(thing).items() if inspect.isclass(thing) else ():
            method = getattr(member, "__func__", member)  # of a class method
            is_own = inspect.isfunction(method) and method.__qualname__ == f"{thing.__qualname__}.{key}"
            if is_own and not key.startswith("_") and method.__doc__:
                yield f"{name}.{key}", method


def test_a_method_of_a_public_class_describes_each_parameter():
    lacking = {}
    for name, method in public_methods():
        described = {entry.name.strip("*") for entry in sections(method).get("parameters", [])}
        if missing := set(inspect.signature(method).parameters) - {"self", "cls"} - described:
            lacking[name] = missing
    assert len(list(public_methods())) > 100
    assert lacking == {}


def test_every_public_name_has_an_example():
    assert [name for name, thing in THINGS.items() if "examples" not in sections(thing)] == []


def test_a_parameter_that_does_not_exist_and_an_entry_without_indent_have_warnings(messages, tmp_path):
    (tmp_path / "sample.py").write_text(
        'def scale(x: int) -> int:\n    """Double.\n\n    Args:\n        y: no parameter.\n        x: the\n'
        '        number.\n    """\n    return 2 * x\n'
    )
    parse_all(griffe.load("sample", search_paths=[tmp_path], docstring_parser="google"))
    assert len(messages) == 3
