"""Colours stand in one file, for Python and for JavaScript; no other file writes a token's colour out again."""

import re
from pathlib import Path

import collsim
from collsim.display.palette import SERIES, TOKENS, build_css_variables
from collsim.viz.pictures import colours as pictures

PACKAGE = Path(collsim.__file__).parent
COLOUR = re.compile(r"#[0-9A-Fa-f]{6}\b")
#: Files with colours that are no tokens: link classes of still pictures, the code editor, a pull request's number, an
#: example.
OTHERS = {"display/palette.py", "viz/pictures/draw.py", "app/styles/editor.css", "train/parallel/ddp_strategy.py"}


def test_no_other_file_writes_a_colour_out():
    files = [
        path
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".js", ".css") and not {"bundles", "__pycache__"} & set(path.parts)
    ]
    assert len(files) > 500
    found = {path.relative_to(PACKAGE).as_posix() for path in files if COLOUR.search(path.read_text(encoding="utf-8"))}
    assert found == OTHERS


def test_a_token_has_a_light_and_a_dark_colour_and_series_are_tokens():
    assert len(TOKENS) > 25
    assert all(COLOUR.fullmatch(colour) for pair in TOKENS.values() for colour in pair)
    assert set(SERIES) <= set(TOKENS)
    assert tuple(TOKENS[name][0] for name in SERIES) == pictures.SERIES


def test_variables_of_css_follow_the_color_scheme():
    light, dark = TOKENS["ink"]
    assert build_css_variables(["ink", "card"], "--x-").startswith(f"--x-ink:light-dark({light},{dark});--x-card:")
    assert build_css_variables().count("light-dark(") == len(TOKENS)
