"""Every page once in each language and once in each theme: what axe-core finds on it, and pictures at two widths."""

import time
from dataclasses import dataclass
from urllib.request import Request, urlopen

from axe_playwright_python.sync_playwright import Axe

from collsim.app.main import PAGES as MENU

#: What stands on a page when it is drawn; its title, unless said.
SHOWN = {
    "story": ".st section.now",
    "first": ".sp[data-transfers]:not([data-transfers='0'])",
    "explore": ".cs[data-transfers]:not([data-transfers='0'])",
    "synthesized": ".st-key-card_synthesis .rc .cs[data-t]",
    "train": ".ts:not([data-opened='']) .cs[data-t]",
    "pipeline": ".ln[data-t]",
    "split": ".sm[data-splits]:not([data-splits='0'])",
    "sharding": ".ln[data-t]",
    "race": ".rc .cs[data-t]",
    "compare": "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg",
    "whatif": ".rc .cs[data-t]",
    "machines": ".wy .cs[data-t]",
    "routing": "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg",
    "write": ".cs[data-transfers]",
    "measured": "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg",
    "lessons": ".cs[data-transfers]",
    "program": "svg.pl rect.wait",
    "script": "[data-testid=stCode] code",
    "hangs": "svg.pl path.arrow",
    "lab": ".lb[data-t]",
    "class": "[data-testid=stTextInput] input",
}
PAGES = {name: SHOWN.get(name, "h1") for name in ("first", "synthesized", *MENU)}
#: Where a page is, unless its name says so: Explore has two forms, of which the simple one has the bare address, and may
#: show what is synthesized; routes and splits are of less work than those of the bare addresses, which take seconds.
PATHS = {
    "first": "?",
    "explore": "explore?mode=full&",
    "synthesized": "explore?collective=allgather&network=torus&shape=3x3&nbytes=1MiB&synthesize=1&",
    "routing": "routing?nodes=4&seeds=20&",
    "split": "split?batch=32&",
}
WIDTHS = (1280, 1920)
#: Texts do not depend on the theme, nor colours on the language.
ALL = [(page, *look) for page in PAGES for look in (("en", "light"), ("zh", "dark"))]
SLOW = 240_000
#: All but Streamlit's own link to the main part: axe takes it for no such link where the page's first one is in a shadow.
SEEN = {"exclude": [["[data-testid=stSkipToContent]"]]}
#: Streamlit's spinners and placeholders stand still: without a graphics card, drawing them takes longer than the page.
STILL = """
new MutationObserver((_, watch) => {
  if (!document.head) return;
  watch.disconnect();
  const style = document.createElement("style");
  style.textContent = "*, *::before, *::after { animation: none !important; transition: none !important }";
  document.head.append(style);
}).observe(document, { childList: true, subtree: true });
"""

#: What the page's Content-Security-Policy refused is remembered: the kind of content and its address.
REFUSALS = """
window.refusals = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.refusals.push(`${event.effectiveDirective} ${event.blockedURI}`));
"""


@dataclass(frozen=True)
class Visit:
    """What was found: axe-core's violations, a PNG by width, and content that the page's policy refused."""

    violations: list
    pictures: dict
    refusals: list


def visited(tab, url, page, language, theme, widths):
    """Open a page, wait until it stands still, look at it in windows of these widths."""
    tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
    tab.set_viewport_size({"width": widths[0], "height": 900})
    tab.goto(f"{url}/{PATHS.get(page, f'{page}?')}lang={language}")
    tab.locator(PAGES[page]).first.wait_for(timeout=SLOW)
    pictures = {widths[0]: settled(tab)}
    found = Axe().run(tab, context=SEEN, options={"resultTypes": ["violations"]})
    for width in widths[1:]:
        tab.set_viewport_size({"width": width, "height": 900})
        pictures[width] = settled(tab)
    return Visit(found.response["violations"], pictures, tab.evaluate("window.refusals"))


def settled(tab):
    """The picture when the script is done, fonts are there, and two in a row are the same."""
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=SLOW)
    tab.evaluate("document.fonts.ready")
    before = b""
    for _ in range(20):
        tab.wait_for_timeout(300)
        now = tab.screenshot()
        if now == before:
            break
        before = now
    return now


def wait_for_the_frame(url):
    """Until the server has made what stands on the first page while Streamlit loads, beside its start."""
    asked = Request(url, headers={"Accept": "text/html"})
    end = time.time() + 60
    while b"collsim-first" not in urlopen(asked).read():
        assert time.time() < end
        time.sleep(0.2)
