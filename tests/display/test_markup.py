"""Text on its way into Markdown: whatever somebody wrote is shown as it is."""

import random
import re

import pytest
from markdown_it import MarkdownIt

from collsim.display.markup import escape_markdown

READER = MarkdownIt("gfm-like", {"linkify": False, "html": True})
#: What Streamlit makes of text once the Markdown is read: emoji and icons, and addresses that become links
#: (remark-emoji, mdast-util-gfm-autolink-literal).
SHORTCUTS = re.compile(r":\+1:|:-1:|:[\w/-]+:|https?://|www\.|[\w.+-]+@\w", re.IGNORECASE)
TEXTS = [
    "![x](http://outside.test/a.png)",
    "<img src=http://outside.test/a.png>",
    "[a](javascript:alert(1)) http://outside.test www.outside.test me@outside.test",
    ":smile: :material/home: :red[x] $x^2$ `code` ~~no~~ **b** _i_ | a | b |",
    "1. one",
    "# head",
    "- item",
    "two\nlines\r\nthree",
    "&amp; &#33; \\* \\",
    "3.5 ms, 4 × 2 = 8 (at 12:30)",
]


def read(markdown):
    """What the Markdown shows; a failure where it is more than one line of text."""
    tokens = READER.parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in tokens[1].children} <= {"text", "text_special"}
    return "".join(child.content for child in tokens[1].children)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_in_markdown_is_shown_as_it_is(text):
    shown = read(escape_markdown(text))
    assert shown.replace("\N{WORD JOINER}", "") == " ".join(text.splitlines())
    assert not SHORTCUTS.search(shown)


def test_random_texts_are_shown_as_they_are():
    rng = random.Random(1)
    for _ in range(20_000):
        text = "".join(rng.choices(":/@[]()!<>*_`$~#&;\\|.-+=\"'{}^wW2 ahttp", k=rng.randrange(1, 12))).strip() or "x"
        shown = read(escape_markdown(text))
        assert shown.replace("\N{WORD JOINER}", "") == re.sub(" +", " ", text)
        assert not SHORTCUTS.search(shown)
