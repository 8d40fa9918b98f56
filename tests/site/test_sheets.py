"""Worksheets as files: Markdown and PDF, with a key beside them."""

import re

import pytest

import collsim as cs
from collsim.site import write_worksheet
from collsim.viz.pictures import worksheet
from collsim.viz.pictures.worksheet import Item, pdf, wrapped

TRACE = cs.simulate(cs.schedule("allreduce_ring", ranks=8), cs.topology.switch(8), "64MiB")


def has_chinese():
    from matplotlib import font_manager

    return bool({f.name for f in font_manager.fontManager.ttflist} & set(worksheet._CHINESE))


def test_without_a_chinese_font_the_way_out_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(worksheet, "_CHINESE", ("No Such Font",))
    with pytest.raises(cs.CollsimError, match="Markdown"):
        write_worksheet(TRACE, tmp_path / "x.pdf", lang="zh")


@pytest.mark.parametrize("suffix", [".md", ".pdf"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_sheet_and_its_key_are_written(tmp_path, suffix, lang):
    if (suffix, lang) == (".pdf", "zh") and not has_chinese():
        with pytest.raises(cs.CollsimError, match="no font on this machine has Chinese"):
            write_worksheet(TRACE, tmp_path / "monday.pdf", seed=3, lang="zh")
        return
    sheet, key = write_worksheet(TRACE, tmp_path / f"monday{suffix}", seed=3, lang=lang)
    assert key.name == f"monday-key{suffix}"
    assert sheet.stat().st_size > 500
    assert key.stat().st_size > sheet.stat().st_size
    if suffix == ".pdf":
        assert sheet.read_bytes().startswith(b"%PDF")


def test_the_same_seed_writes_the_same_pdf_and_another_seed_another(tmp_path):
    a, b, c = (
        write_worksheet(TRACE, tmp_path / f"{k}.pdf", seed=s)[0].read_bytes() for k, s in (("a", 1), ("b", 1), ("c", 2))
    )
    assert a == b
    assert a != c


def test_sixty_questions_go_over_several_pages(tmp_path):
    pdf(tmp_path / "long.pdf", "Many", ["a fact"], [Item(f"Question {k}?", ["yes", "no"]) for k in range(60)])
    assert len(re.findall(rb"/Type /Page\b", (tmp_path / "long.pdf").read_bytes())) >= 5


def test_chinese_breaks_anywhere_and_english_between_words():
    assert wrapped("一二三四五六", 4) == ["一二", "三四", "五六"]
    assert wrapped("one two three", 8) == ["one two", "three"]


def test_what_cannot_be_written_is_said_in_a_sentence(tmp_path):
    with pytest.raises(cs.CollsimError, match=r"must be \.md or \.pdf"):
        write_worksheet(TRACE, tmp_path / "x.docx")
    with pytest.raises(cs.CollsimError, match="no folder"):
        write_worksheet(TRACE, tmp_path / "nowhere" / "x.md")
