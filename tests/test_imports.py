"""Packages are imported by several threads at once, as the pages of a class are."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import ROOT, is_checked_only

#: Packages whose names are imported at their first use, without those of `import collsim`.
PACKAGES = sorted(
    ".".join(("collsim", *path.parent.relative_to(ROOT).parts))
    for path in ROOT.rglob("*/__init__.py")
    if "answer_for_package(\n" in path.read_text(encoding="utf-8")
)

#: One thread is about to import a package, and waits until another has begun with a module in it and waits for the
#: package. Then the first continues.
MEETING = """
import importlib.machinery, sys, threading, time

import collsim

package, module, name = sys.argv[1:]
assert package not in sys.modules
arrived, errors = threading.Event(), []


def is_waiting(thread):
    frame = sys._current_frames().get(thread.ident)
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return "acquire" in names[:2] and names.count("_find_and_load") > 1


def meet(spec):
    arrived.set()
    while not is_waiting(second):
        time.sleep(0.001)


class Meeting:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == package and threading.current_thread() is first:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            spec.loader.create_module = meet  # this thread has the package's lock, and no other
            return spec


def use(*names):
    try:
        for name in names:
            importlib.import_module(name)
        getattr(sys.modules[package], sys.argv[3])
    except BaseException as error:
        errors.append(f"{type(error).__name__}: {error}")


sys.meta_path.insert(0, Meeting)
first, second = threading.Thread(target=use, args=(package,)), threading.Thread(target=use, args=(module, package))
first.start()
arrived.wait()
second.start()
first.join()
second.join()
sys.exit("; ".join(errors) or 0)
"""


def late_imports(package):
    """Each name that a package imports at its first use, with its module, as a type checker sees it."""
    path = Path(importlib.import_module(package).__file__)
    for block in filter(is_checked_only, ast.parse(path.read_text(encoding="utf-8")).body):
        for node in block.body:
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ((alias.name, module) for alias in node.names)


@pytest.mark.parametrize("package", [*PACKAGES, "collsim.sweep"])
def test_a_late_name_is_what_a_type_checker_takes_it_for(package):
    names = dict(late_imports(package))
    assert {*importlib.import_module(package).__all__} <= names.keys() | vars(sys.modules[package]).keys()
    for name, module in names.items():
        scope = {}
        exec(f"from {module} import {name}", scope)
        assert getattr(sys.modules[package], name) is scope[name], name


def test_there_are_such_packages():
    assert {"collsim.nccl", "collsim.teach", "collsim.viz.program"} <= {*PACKAGES}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_and_a_module_in_it_are_imported_by_two_threads(package):
    name, module = next((name, module) for name, module in late_imports(package) if module.startswith(package))
    command = [sys.executable, "-c", MEETING, package, module, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
