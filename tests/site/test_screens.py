"""Pictures of the app on the pages show today's app: its menu and figures are those that docs/make_screens.py recorded."""

import hashlib
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import make_screens
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from collsim.app.main import GROUPS
from collsim.locale import load_messages

ROOT = Path(__file__).parents[2]
RECORD = json.loads(make_screens.RECORD.read_text(encoding="utf-8"))
REMAKE = "run: python docs/make_screens.py"


def squeeze(text):
    """A text without spaces, which a browser and HTML do not have at the same places."""
    return re.sub(r"\s", "", text)


def test_every_picture_of_the_app_on_a_page_is_recorded_as_it_is():
    assert set(RECORD) == set(make_screens.SCREENS)
    for name, words in RECORD.items():
        picture = make_screens.DOCS / name
        assert hashlib.sha256(picture.read_bytes()).hexdigest() == words["sha256"], REMAKE
        with Image.open(picture) as screen:
            assert screen.size == (make_screens.SIZE["width"], make_screens.SIZE["height"])


def test_a_page_shows_the_picture_of_its_language():
    pages = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "docs" / "index.md", ROOT / "docs" / "index.zh.md"]
    for page in pages:
        (name,) = re.findall(r"\]\((?:docs/)?(explore[\w.]*png)\)", page.read_text(encoding="utf-8"))
        assert make_screens.SCREENS[name][0] == ("zh" if ".zh" in page.name else "en")


@pytest.mark.parametrize("name", make_screens.SCREENS)
def test_the_menu_in_a_picture_is_that_of_the_app(name):
    messages = load_messages(make_screens.SCREENS[name][0], "app")
    assert RECORD[name]["menu"] == [messages[f"menu.{group}"] for group in GROUPS], REMAKE


@pytest.mark.parametrize("name", make_screens.SCREENS)
def test_the_figures_in_a_picture_are_those_of_the_app(name):
    _, address = make_screens.SCREENS[name]
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='explore')", default_timeout=90)
    for key, (value,) in parse_qs(urlparse(address).query).items():
        at.query_params[key] = value
    at.run()
    (headline,) = (e.proto.body for e in at.get("html") if 'class="cs-head"' in e.proto.body)
    assert squeeze(re.sub(r"<[^>]*>", "", headline)) == squeeze(RECORD[name]["headline"]), REMAKE
