"""What hosts load is one module; its source are several that import one another, and every file of them is in it."""

import re

import pytest

from collsim.viz.hosts import bundle
from collsim.viz.hosts.bundle import HERE, bundle_modules
from collsim.viz.hosts.page import build_player_source
from collsim.viz.race.race import build_race_source
from collsim.viz.real.document import build_lab_source
from collsim.viz.route.route import build_route_source
from collsim.viz.simple.simple import build_simple_source
from collsim.viz.splits.lanes import build_lanes_source
from collsim.viz.splits.split_document import build_splits_source
from collsim.viz.story.document import build_story_source
from collsim.viz.training.document import build_rivals_source, build_step_source


@pytest.mark.parametrize(
    "source",
    [
        build_player_source,
        build_race_source,
        build_route_source,
        build_step_source,
        build_rivals_source,
        build_simple_source,
        build_story_source,
        build_lanes_source,
        build_splits_source,
        build_lab_source,
    ],
)
def test_a_host_gets_one_module_that_imports_nothing(source):
    text = source()
    assert not re.search(r"^import\b", text, re.MULTILINE)
    assert re.findall(r"^export \w+", text, re.MULTILINE) == ["export default"], (
        "a named export may mean something to a host"
    )
    players = (
        0
        if source
        in (build_rivals_source, build_story_source, build_lanes_source, build_splits_source, build_lab_source)
        else 1
    )  # these play no timeline
    assert len(re.findall(r"^function createPlayer\(", text, re.MULTILINE)) == players
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere"


def test_every_file_of_the_player_is_in_the_module_after_what_it_needs():
    text = build_player_source()
    heads = [
        path.read_text(encoding="utf-8").splitlines()[0] for path in sorted((HERE / "viz" / "player").rglob("*.js"))
    ]
    assert len(heads) > 20
    assert all(text.count(head) == 1 for head in heads), [head for head in heads if text.count(head) != 1]
    assert text.index("const NB =") < text.index("const WORDS ="), (
        "a constant that another reads while loading comes first"
    )


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a.js": 'import * as b from "./b.js";\n', "b.js": ""}, "cannot be joined"),
        ({"a.js": 'import { b } from "./b.js";\n', "b.js": "export { b } from './c.js';\n"}, "cannot be joined"),
        (
            {"a.js": 'import { b } from "./b.js";\nconst x = 1;\n', "b.js": "export const b = 1;\nconst x = 2;\n"},
            "x is declared in b.js and in a.js",
        ),
        ({"a.js": "const x = 1,\n  y = 2;\n"}, "goes on with another name"),
    ],
)
def test_what_cannot_be_joined_is_refused(tmp_path, monkeypatch, files, why):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(bundle, "HERE", tmp_path)
    bundle_modules.cache_clear()
    with pytest.raises(ValueError, match=re.escape(why)):
        bundle_modules("a.js")
    bundle_modules.cache_clear()


def test_modules_may_import_each_other_in_a_circle(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\n\nexport const a = () => b;\n')
    (tmp_path / "b.js").write_text('import {\n  a,\n} from "./a.js";\n\nexport const b = () => a;\n')
    monkeypatch.setattr(bundle, "HERE", tmp_path)
    bundle_modules.cache_clear()
    assert bundle_modules("a.js") == "const b = () => a;\n\nconst a = () => b;\n"
    bundle_modules.cache_clear()
