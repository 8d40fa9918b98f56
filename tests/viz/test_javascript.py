"""What browsers load is built from the modules of the package, is built anew with each of them, and loads nothing."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import collsim
from collsim.viz.hosts.bundle import BUNDLES, read_bundle

PACKAGE = Path(collsim.__file__).parent
NAMES = sorted(path.stem for path in BUNDLES.glob("*.js"))
PAGES = {"first_frame", "player_page", "race_page", "simple_page", "site", "step_page"}


#: What modules read beside one another; pages of hosts are read by Python.
DATA = {
    path.relative_to(PACKAGE).as_posix()
    for pattern in (
        "display/palette.json",
        "viz/**/icons.json",
        "viz/**/*.css",
        "viz/[!h]*/**/*.html",
        "locale/*/js/*.json",
    )
    for path in PACKAGE.glob(pattern)
}


def list_modules():
    return {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.js") if path.parent != BUNDLES}


def test_bundles_are_built_from_the_modules_as_they_are_and_every_module_is_in_one():
    digests = json.loads((BUNDLES / "sources.json").read_text(encoding="utf-8"))
    assert len(digests) > 100
    assert set(digests) == list_modules() | DATA, "a module that no bundle uses, or a new one: npm run build"
    changed = [
        path for path, digest in digests.items() if hashlib.sha256((PACKAGE / path).read_bytes()).hexdigest() != digest
    ]
    assert changed == [], "npm run build"


def test_a_bundle_names_the_module_from_which_it_is_built():
    heads = {name: re.match(r"/\* collsim: built from (\S+) ", read_bundle(name))[1] for name in NAMES}
    assert set(heads) > PAGES
    assert {path for paths in heads.values() for path in paths.split(",")} <= list_modules()


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_loads_nothing_and_exports_at_most_a_default(name):
    text = read_bundle(name)
    assert not re.search(r"(?:^|[;}])import\b[^.]*?[\"']", text, re.MULTILINE), "an import is left"
    exports = re.findall(r"(?:^|[;}])export\s*\{([^}]*)\}", text)
    assert len(exports) == (0 if name in PAGES else 1)
    assert all(re.fullmatch(r"[\w$]+ as default", names) for names in exports), "others may mean something to a host"
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere"
    assert "</script" not in text, "it can stand in a script element"
