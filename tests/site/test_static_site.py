"""Building the site: complete, small, the same every time, and never over somebody's files."""

import base64
import gzip
import html
import json
import re

import pytest

import collsim as cs
from collsim.lessons.chapters import SECTIONS
from collsim.site import build_site, gallery, pages
from collsim.viz.hosts.player_page import encode_inline_json

RING = [network for network in gallery.NETWORKS if network.key == "ring"]


def test_a_site_has_pages_in_both_languages_and_every_link_leads_somewhere(site):
    for language in ("en", "zh"):
        for page in (site.path / language).glob("*.html"):
            text = page.read_text(encoding="utf-8")
            for target in re.findall(r'(?:href|src)="([^"#]+)', text):
                inside = target.startswith("data:image/")  # a picture that is in the page itself
                assert inside or (page.parent / target).resolve().is_file(), f"{page.name} leads to {target[:80]}"
            assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", text), "an address outside"


def test_nothing_in_the_site_names_another_host(site):
    for path in site.path.rglob("*"):
        if path.is_file() and path.parent.name != "runs":
            found = set(re.findall(r"https?://[\w./-]+", path.read_text(encoding="utf-8"))) - {
                "http://www.w3.org/2000/svg"
            }
            assert not found, f"{path.name}: {found}"


def test_the_whole_gallery_is_a_few_hundred_runs_of_every_network():
    # not built here (that takes a while): its networks and algorithms are counted
    keys = [
        f"{name}--{network.key}--{n}" for network in gallery.NETWORKS for n in network.ranks for name in cs.algorithms()
    ]
    assert len(set(map(gallery.make_slug, keys))) == len(keys), "two runs would share a file"
    assert len(keys) > 300


def test_a_run_weighs_little_enough_for_thirty_megabytes(site):
    sizes = [p.stat().st_size for p in (site.path / "runs").glob("*.js")]
    assert sum(sizes) / len(sizes) * 1000 < 28_000_000
    assert site.nbytes < 30_000_000


@pytest.mark.slow
def test_building_twice_gives_the_same_bytes(tmp_path):
    some = {"networks": RING, "only": ["allreduce_ring"]}
    one, two = build_site(tmp_path / "a", **some), build_site(tmp_path / "b", **some)
    files = [
        sorted((p.relative_to(s.path), p.read_bytes()) for p in s.path.rglob("*") if p.is_file()) for s in (one, two)
    ]
    assert files[0] == files[1]


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(cs.CollsimError, match="holds something"):
        build_site(tmp_path, only=["allreduce_ring"])
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_site_is_replaced_and_one_that_fails_changes_nothing(tmp_path):
    some = {"networks": RING, "only": ["allreduce_ring"]}
    made = build_site(tmp_path / "site", **some)
    before = sorted(p.name for p in made.path.rglob("*"))
    with pytest.raises(cs.CollsimError, match="nothing to build"):
        build_site(tmp_path / "site", networks=some["networks"], only=["no_such_thing"])
    assert sorted(p.name for p in made.path.rglob("*")) == before
    assert build_site(tmp_path / "site", **some).files == made.files
    assert [p.name for p in tmp_path.iterdir()] == ["site"], "no scraps are left"


def test_one_language_is_enough_and_an_unknown_one_is_refused(tmp_path):
    made = build_site(tmp_path / "site", ["zh"], networks=RING, only=["allreduce_ring"])
    assert not (made.path / "en").exists()
    with pytest.raises(cs.CollsimError, match="unknown language"):
        build_site(tmp_path / "other", ["fr"])


def test_text_cannot_leave_its_script_element():
    assert "</script" not in encode_inline_json({"name": "</script><script>alert(1)</script>"})


def test_every_section_of_a_lesson_has_a_page_with_its_own_question_first(site):
    for key, (_, section) in SECTIONS.items():
        script = (site.path / "runs" / f"lesson--{key}.js").read_text(encoding="ascii")
        packed = re.fullmatch(r'collsimRun\("[^"]+","([^"]+)"\);\n', script)[1]
        record = json.loads(gzip.decompress(base64.b64decode(packed)))
        assert len(record["questions"]) == 6
        told = section.fill_texts()
        for k, language in enumerate(("en", "zh")):
            text = (site.path / language / pages.name_lesson_file(key)).read_text(encoding="utf-8")
            text = re.sub('<span class="cs-points"[^>]*>(.*?)</span>', r"\1", text)  # words that light the picture
            text = html.unescape(text).replace("\N{NO-BREAK SPACE}", " ")
            assert record["questions"][0]["text"][language] == told.question.ask[k]
            assert [p[k] for p in (*told.before, *told.after) if p[k] not in text] == []
            assert [cell[k] for row in told.table for cell in row if f"<td>{cell[k]}</td>" not in text] == []
            hidden = text[text.index("<details>") : text.index("</details>")] if "<details>" in text else ""
            assert [p[k] for p in told.after if p[k] not in hidden] == [], "what gives the answer away is folded"
            assert [one for one in told.lanes if one.describe(k) not in text.replace(hidden, "")] == []
            assert [one for one in told.lanes_after if one.describe(k) not in hidden] == []


def test_a_folder_that_cannot_be_written_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr("collsim.site.static_site._write", lambda *_: pytest.fail("it ran"))
    with pytest.raises(cs.FormatError, match="cannot write '/proc/site'"):
        build_site("/proc/site")


def test_a_disk_that_is_full_is_said_of_the_site(tmp_path, monkeypatch):
    def fill_disk(work, *_):
        raise OSError(28, "No space left on device", str(work / "runs" / "x.js"))

    monkeypatch.setattr("collsim.site.static_site._write", fill_disk)
    with pytest.raises(cs.FormatError) as refused:
        build_site(tmp_path / "site")
    assert str(refused.value) == f"cannot write {str(tmp_path / 'site')!r}: No space left on device"
    assert list(tmp_path.iterdir()) == []
