"""Runs a notebook's cells in this process, one after the other in one namespace, as a kernel does.

A kernel takes seconds to start; here it takes as long as the cells take. What a cell ends with is formatted as Jupyter
formats it, so that a picture or a table that cannot be drawn is an error of its cell.
"""

import ast
import contextlib
import io
import linecache
import re
import sys
from importlib import import_module
from string import Template
from types import ModuleType

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from make_numbers import MARK
from matplotlib import pyplot

#: The module in which the cells are run. A kernel's is `__main__`, which here belongs to pytest.
MODULE = "notebook_cells"
#: The name under which a run counts the pictures that its cells show.
PICTURES = "__pictures__"
#: What Jupyter calls on a value that a cell ends with.
REPRESENTATIONS = ("__repr__", "_repr_html_", "_repr_png_", "_repr_svg_", "_repr_mimebundle_")


class CellError(AssertionError):
    """A cell failed, or what it shows cannot be shown."""


def run_cells(cells, after="None"):
    """Run the cells of a notebook from top to bottom.

    Args:
        cells: as the notebook's JSON has them.
        after: an expression for the end of the run, evaluated in the namespace of the cells.

    Returns:
        For each cell, what each marked expression in its prose is, as text; and the value of `after`.

    Raises:
        CellError: names the cell.
    """
    module = ModuleType(MODULE)
    module.__dict__[PICTURES] = 0
    numbers = []
    shell = Shell(module.__dict__)
    module.get_ipython = lambda: shell
    with _as_in_a_kernel(module):
        for k, cell in enumerate(cells):
            source = "".join(cell["source"])
            marks = MARK.findall(source) if cell["cell_type"] == "markdown" else []
            try:
                if cell["cell_type"] == "code":
                    module.__dict__[PICTURES] += _run(source, f"<cell {k}>", module.__dict__)
                numbers.append({mark: str(eval(mark, module.__dict__)) for mark in marks})
            except Exception as error:
                raise CellError(f"cell {k} fails: {type(error).__name__}: {error}\n{source}") from error
        return numbers, eval(after, module.__dict__)


class Shell:
    """The part of IPython's shell that `%load_ext` and the cell magics of an extension need."""

    def __init__(self, user_ns):
        self.user_ns, self.magics = user_ns, {}

    def register_magic_function(self, func, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = func

    def run_line_magic(self, name, line):
        assert name == "load_ext", name
        import_module(line).load_ipython_extension(self)

    def run_cell_magic(self, name, line, cell):
        return self.magics["cell", name](Template(line).safe_substitute(self.user_ns), cell)


@contextlib.contextmanager
def _as_in_a_kernel(module):
    """Functions of the cells can be pickled and their source read; pictures are drawn into memory, nothing is printed."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setitem(sys.modules, MODULE, module)
        try:
            yield
        finally:
            pyplot.close("all")


def _run(source, name, names):
    """Execute a cell, format the value of its last expression, draw its pictures; how many it shows."""
    source = TransformerManager().transform_cell(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyplot, "show", lambda: drawn.append(_draw_all()))
        exec(compile(tree, name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
            forms = [getattr(value, method)() for method in REPRESENTATIONS if hasattr(value, method)]
            drawn.append(any(map(_is_picture, forms)))
    return sum(drawn) + _draw_all()


def _is_picture(form):
    """Whether what a value shows is a picture or the player; a table or a verdict in HTML is none."""
    return isinstance(form, bytes) or (isinstance(form, str) and re.search("<(?:svg|iframe) ", form) is not None)


def _draw_all():
    """Draw and close what pyplot has open, as the notebook's inline pictures are; how many they were."""
    numbers = pyplot.get_fignums()
    for number in numbers:
        pyplot.figure(number).canvas.draw()
    pyplot.close("all")
    return len(numbers)
