"""Published copies of notebooks have their outputs, as a notebook and as a page, and the sources stay as they are."""

import re
import sys

import nbformat
import pytest
from books import NAMES
from IPython.core.formatters import DisplayFormatter
from make_notebooks import FOLDERS
from publish_notebooks import count_figures, publish_notebooks, run_notebook

import collsim as cs


@pytest.fixture
def trace():
    return cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")


def test_a_published_notebook_has_outputs_and_a_page_and_its_source_has_none(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setenv("MPLBACKEND", "Agg")  # as on a machine without a display
    source = FOLDERS["zh"] / "19-mixture-of-experts.ipynb"
    before = source.read_bytes()
    figures = publish_notebooks(tmp_path / "zh", "zh", [source])
    assert source.read_bytes() == before
    assert not any(cell.get("outputs") for cell in nbformat.read(source, 4).cells)
    copy = nbformat.read(tmp_path / "zh" / source.name, 4)
    assert all(cell.outputs for cell in copy.cells if cell.cell_type == "code" and cell.source.endswith("show()"))
    assert figures == {source.stem: count_figures(copy)}
    assert figures[source.stem] >= 4
    shown = [output["data"] for cell in copy.cells for output in cell.get("outputs", ()) if "data" in output]
    assert not [data for data in shown if "<iframe" in data.get("text/html", "")], "GitHub shows no player"
    page = (tmp_path / "zh" / f"{source.stem}.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= 2
    assert "<iframe srcdoc=" in page, "a page has the player"
    assert "1.34 ms" in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page)
    assert f'href="{source.stem}.html"' in (tmp_path / "zh" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_notebook_has_four_pictures_and_no_table_counts_as_one(name):
    assert count_figures(run_notebook(FOLDERS["zh"] / name)) >= 4


def test_a_table_or_a_verdict_in_html_is_no_picture():
    def count(**data):
        output = nbformat.v4.new_output("display_data", {key.replace("_", "/"): value for key, value in data.items()})
        return count_figures(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])]))

    assert count(text_html="<table><tr><td>1</td></tr></table>") == 0
    assert count(text_plain="right") == 0
    assert count(text_html='<iframe srcdoc="..."></iframe>') == count(image_png="iVBORw0") == 1


def test_without_widgets_a_cell_shows_the_player_and_a_still_picture(trace, monkeypatch):
    for package in ("anywidget", "ipywidgets", "traitlets"):
        monkeypatch.setitem(sys.modules, package, None)
    step = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), micro_batch=8)
    for shown in (trace, trace.animate("zh"), step, step.animate("zh")):
        for form, start in (("_repr_html_", "<iframe srcdoc="), ("_repr_png_", b"\x89PNG")):
            assert start in getattr(shown, form)()


def test_jupyter_takes_both_forms_of_a_run_and_without_matplotlib_the_player_alone(trace, monkeypatch):
    formatter = DisplayFormatter(active_types=["text/html", "image/png"])
    assert set(formatter.format(trace.animate())[0]) == {"text/plain", "text/html", "image/png"}
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    data, _ = formatter.format(trace.animate())
    assert "<iframe srcdoc=" in data["text/html"]
    assert data.get("image/png") is None
