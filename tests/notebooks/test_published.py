"""Published copies of notebooks have their outputs, as a notebook and as a page, and the sources stay as they are."""

import re

import nbformat
from make_notebooks import FOLDERS
from publish_notebooks import count_figures, publish_notebooks


def test_a_published_notebook_has_outputs_and_a_page_and_its_source_has_none(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_PROGRESS", str(tmp_path / "progress.json"))
    source = FOLDERS["zh"] / "19-mixture-of-experts.ipynb"
    before = source.read_bytes()
    figures = publish_notebooks(tmp_path / "zh", "zh", [source])
    assert source.read_bytes() == before
    assert not any(cell.get("outputs") for cell in nbformat.read(source, 4).cells)
    copy = nbformat.read(tmp_path / "zh" / source.name, 4)
    assert all(cell.outputs for cell in copy.cells if cell.cell_type == "code" and cell.source.endswith("show()"))
    assert figures == {source.stem: count_figures(copy)}
    assert figures[source.stem] >= 4
    page = (tmp_path / "zh" / f"{source.stem}.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= 2
    assert "1.34 ms" in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page)
    assert f'href="{source.stem}.html"' in (tmp_path / "zh" / "index.html").read_text(encoding="utf-8")
