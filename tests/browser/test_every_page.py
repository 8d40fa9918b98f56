"""Every page in English and light, and in Chinese and dark: no finding of axe-core, and no gross change of what it
looks like.

The screenshots stay in `build/screenshots`. What is compared are thumbnails of 64 pixels' width, blurred, so that
another font or a line that breaks elsewhere does not matter, and a chart that is gone does. After a change that is
meant: `make pictures`, look at the new thumbnails in `tests/browser/pictures`, commit them.
"""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from sampling import keep_fast
from visits import ALL, WIDTHS, visited

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SHOTS, ACCEPTED = ROOT / "build" / "screenshots", Path(__file__).parent / "pictures"
ACCEPT = os.environ.get("ACCEPT_PICTURES") == "1"
WIDE = 64
#: A block of the thumbnail has changed beyond this difference of its colour (of 255), and the page where more than this
#: share of them has.
BLOCK, SHARE = 28, 0.10


#: Each page in one of its two looks; in `make check-all` in both, and at both widths.
ONCE = [look for k, look in enumerate(ALL) if k % 2 == k // 2 % 2]
#: Pages that other tests of `make check` open in a browser.
OPENED = {"diagnosis", "hangs", "lab", "lessons", "machines", "program", "train", "whatif", "write", "class"}
NARROW = [(*look, WIDTHS[:1]) for look in ONCE if look[0] not in OPENED]


@pytest.mark.parametrize(
    ("page", "language", "theme", "widths"),
    keep_fast([*NARROW, *((*look, WIDTHS) for look in ALL)], NARROW),
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_axe_core_finds_nothing_and_the_page_has_not_changed_grossly(page, language, theme, widths, tab, app_url):
    found, name = visited(tab, app_url, page, language, theme, widths), f"{page}-{language}-{theme}"
    complaints = [complaint for width in widths if (complaint := compared(f"{name}-{width}", found.pictures[width]))]
    complaints += [
        f"{v['id']}: {v['help']}\n  " + "\n  ".join(n["html"][:200] for n in v["nodes"][:5]) for v in found.violations
    ]
    complaints += [f"the page's Content-Security-Policy refuses {refusal}" for refusal in found.refusals]
    assert not complaints, "\n".join(complaints)


def compared(name, picture):
    """Keep a screenshot, and say what is to be done where it looks different from the accepted one."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"{name}.png").write_bytes(picture)
    now, kept = thumbnail(picture), ACCEPTED / f"{name}.png"
    if ACCEPT:
        ACCEPTED.mkdir(exist_ok=True)
        now.save(kept, optimize=True)
    if not kept.exists():
        return f"{name} has no accepted picture; `make pictures` makes it"
    changed = share_changed(Image.open(kept).convert("RGB"), now)
    where = (
        f"{kept.relative_to(ROOT)}; the whole of it is {SHOTS.relative_to(ROOT)}/{name}.png. If that is meant: make "
        "pictures"
    )
    return f"{changed:.0%} of {name} looks different from {where}" if changed > SHARE else ""


def thumbnail(png):
    """A picture, 64 pixels wide, each the mean of its block."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.resize((WIDE, round(WIDE * picture.height / picture.width)), Image.Resampling.BOX)


def share_changed(before, now):
    """The share of blocks whose colour, with that of their neighbours, is another one."""
    if before.size != now.size:
        return 1.0
    a, b = (np.asarray(p.filter(ImageFilter.GaussianBlur(1.2)), dtype=float) for p in (before, now))
    return float((np.abs(a - b).max(axis=2) > BLOCK).mean())


def test_each_page_is_looked_at_once_and_both_looks_come():
    assert [page for page, _, _ in ONCE] == [page for page, language, _ in ALL if language == "en"]
    assert {(language, theme) for _, language, theme in ONCE} == {("en", "light"), ("zh", "dark")}


def test_a_page_whose_picture_is_gone_or_that_turned_dark_has_changed_and_a_shifted_line_has_not():
    page = np.full((900, 1280, 3), 245, np.uint8)
    page[100:700, 300:1250] = 90
    page[720:734, 300:1000] = 20
    whole, gone, shifted = page.copy(), page.copy(), page.copy()
    gone[100:700, 300:1250] = 245
    shifted[720:734] = 245
    shifted[740:754, 300:1000] = 20

    def make_thumbnail(pixels):
        made = io.BytesIO()
        Image.fromarray(pixels).save(made, "PNG")
        return thumbnail(made.getvalue())

    assert share_changed(make_thumbnail(page), make_thumbnail(whole)) == 0
    assert share_changed(make_thumbnail(page), make_thumbnail(gone)) > SHARE
    assert share_changed(make_thumbnail(page), make_thumbnail(255 - page)) > SHARE
    assert share_changed(make_thumbnail(page), make_thumbnail(shifted)) < SHARE / 2
