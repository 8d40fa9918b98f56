"""The story as a page of the site, without the rest of it: for a browser without a server."""

import json

import collsim
from collsim.site import pages
from collsim.viz.hosts.bundle import read_bundle
from collsim.viz.story.story_document import encode_story


def write_story_page(folder, language="en"):
    """Write the page with its script and style sheet into a folder; its file."""
    data = {"kind": "story", "story": json.loads(encode_story())}
    body, title = '<div id="story"></div>', pages.get_text("story", language)
    page = pages.build_page("story.html", language, title, body, data, collsim.__version__)
    files = {"assets/site.js": read_bundle("site"), "assets/site.css": pages.read_style("site.css")}
    for name, text in {**files, f"{language}/story.html": page}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / language / "story.html"
