"""Worksheets as files: Markdown and PDF, with a key beside them."""

import re
import resource
from itertools import product

import pytest
from sampling import keep_fast

import collsim as cs
from collsim.site import write_worksheet
from collsim.teach.quiz.worksheet import draw_plan, find_ring_orders
from collsim.viz.pictures import worksheet_pdf
from collsim.viz.pictures.machine_picture import CHINESE, find_fonts
from collsim.viz.pictures.worksheet_pdf import Item, draw_pdf, wrap_text

TRACE = cs.simulate(cs.schedule("allreduce_ring", ranks=8), cs.topology.switch(8), "64MiB")


def has_chinese():
    return bool(set(find_fonts("zh")) & set(CHINESE))


def test_without_a_chinese_font_the_way_out_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(worksheet_pdf, "CHINESE", ("No Such Font",))
    with pytest.raises(cs.CollsimError, match="Markdown"):
        write_worksheet(TRACE, tmp_path / "x.pdf", language="zh")


@pytest.mark.parametrize(
    ("suffix", "language"),
    keep_fast(product((".md", ".pdf"), ("en", "zh")), [(".md", "zh"), (".pdf", "en")]),
)
def test_a_sheet_and_its_key_are_written(tmp_path, suffix, language):
    if (suffix, language) == (".pdf", "zh") and not has_chinese():
        with pytest.raises(cs.CollsimError, match="no font on this machine has Chinese"):
            write_worksheet(TRACE, tmp_path / "monday.pdf", seed=3, language="zh")
        return
    sheet, key = write_worksheet(TRACE, tmp_path / f"monday{suffix}", seed=3, language=language)
    assert key.name == f"monday-key{suffix}"
    assert sheet.stat().st_size > 500
    assert key.stat().st_size > sheet.stat().st_size
    if suffix == ".pdf":
        assert sheet.read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_same_seed_writes_the_same_pdf_and_another_seed_another(tmp_path):
    a, b, c = (
        write_worksheet(TRACE, tmp_path / f"{k}.pdf", seed=s)[0].read_bytes() for k, s in (("a", 1), ("b", 1), ("c", 2))
    )
    assert a == b
    assert a != c


def test_sixty_questions_go_over_several_pages():
    pages = draw_pdf("Many", ["a fact"], [Item(f"Question {k}?", ["yes", "no"]) for k in range(60)])
    assert len(re.findall(rb"/Type /Page\b", pages)) >= 5


def test_chinese_breaks_anywhere_and_english_between_words():
    assert wrap_text("一二三四五六", 4) == ["一二", "三四", "五六"]
    assert wrap_text("one two three", 8) == ["one two", "three"]


def test_what_cannot_be_written_is_said_in_a_sentence(tmp_path):
    with pytest.raises(cs.CollsimError, match=r"must be \.md, \.pdf or \.xml"):
        write_worksheet(TRACE, tmp_path / "x.docx")
    with pytest.raises(cs.CollsimError, match="no folder"):
        write_worksheet(TRACE, tmp_path / "nowhere" / "x.md")


# ---- what is asked about is on the sheet ---------------------------------------------------------------------------


def test_a_sheet_has_the_machine_the_ring_and_the_schedule(tmp_path):
    sheet, key = write_worksheet(TRACE, tmp_path / "monday.md")
    for path in (sheet, key):
        text = path.read_text(encoding="utf-8")
        assert "![](monday.svg)" in text
        assert "Ring: 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 0" in text
        assert "rank 0  +7←7    +6←7" in text
    assert "<svg" in (tmp_path / "monday.svg").read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["monday-key.md", "monday.md", "monday.svg"]


def test_the_rings_of_all_channels_are_those_that_the_machine_offers():
    two = cs.machine("dgx-a100", nodes=2)
    plan = cs.schedule("allreduce_ring", topology=two)
    found = find_ring_orders(plan)
    assert len(found) == len(two.orders) == 8
    for order, offered in zip(found, two.orders.tolist(), strict=True):
        at = offered.index(0)
        assert order == offered[at:] + offered[:at]


@pytest.mark.parametrize("name", ["allreduce_parameter_server", "broadcast_binomial", "allreduce_recursive_doubling"])
def test_what_is_no_ring_has_none(name):
    assert find_ring_orders(cs.schedule(name, ranks=4)) == []


def test_a_large_schedule_is_cut_to_what_a_page_holds():
    text = draw_plan(cs.schedule("allreduce_ring", ranks=64))
    assert max(map(len, text.splitlines())) <= 140
    assert "more steps not shown" in text
    assert 15 < len(text.splitlines()) < 22


def test_the_printed_sheet_begins_with_a_page_of_what_is_given():
    plain = draw_pdf("Head", ["a fact"], [Item("Why?")])
    drawn = []
    given = draw_pdf("Head", ["a fact"], [Item("Why?")], "rank 0  +1←1", drawn.append)
    assert [len(re.findall(rb"/Type /Page\b", text)) for text in (plain, given)] == [1, 2]
    assert len(drawn) == 1
    assert b"DejaVuSansMono" in given
    assert b"DejaVuSansMono" not in plain


def test_a_machine_that_is_too_large_to_be_drawn_is_left_out(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise cs.CollsimError("too much to draw")

    monkeypatch.setattr(cs.Topology, "draw", refuse)
    sheet, _ = write_worksheet(TRACE, tmp_path / "monday.md")
    assert "![](" not in sheet.read_text(encoding="utf-8")
    write_worksheet(TRACE, tmp_path / "monday.pdf")
    assert not (tmp_path / "monday.svg").exists()


@pytest.mark.parametrize("suffix", [".md", ".pdf", ".xml"])
def test_a_disk_that_is_full_is_said_of_a_file_of_the_sheet(tmp_path, suffix):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256, limits[1]))  # what lies beyond fails as on a full disk
    try:
        with pytest.raises(cs.FormatError, match=r"cannot write '.*/monday[^/]*': "):
            write_worksheet(TRACE, tmp_path / f"monday{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [], "no half of a file stays"
