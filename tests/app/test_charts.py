"""Every chart is valid Vega-Lite: the app sends charts without asking, and the schema is asked here."""

import altair as alt
import pytest
from streamlit.testing.v1 import AppTest
from test_pages import fine, unfolded

from collsim.app.shell import charts

PUBLISHED = {"crossing", "every", "map", "measured_busbw", "measured_time", "scatter", "tried"}
NETWORK = {"network": "switch", "ranks": "4", "nbytes": "1MiB"}


@pytest.fixture
def drawn(monkeypatch):
    """The charts that a page draws, by key."""
    seen, draw = {}, charts.draw_chart

    def note(key, make, *given):
        seen[key] = make(*given)
        draw(key, make, *given)

    monkeypatch.setattr(charts, "draw_chart", note)
    return seen


@pytest.mark.parametrize(
    ("page", "query", "keys"),
    [
        ("measured", {"run": "v100-8"}, PUBLISHED),
        ("measured", {"run": "own"}, PUBLISHED | {"fit"}),
        ("compare", {"sizes": "1KiB:1MiB:32", **NETWORK}, {"time", "busbw"}),
        ("whatif", {**NETWORK, "jitter": "1us"}, {"spread"}),
        ("whatif", NETWORK, {"tornado"}),
        ("explore", {**NETWORK, "algorithm": "allreduce_tree"}, {"chunks"}),
    ],
)
def test_every_chart_of_a_page_is_valid(drawn, page, query, keys):
    at = AppTest.from_string(f"from collsim.app.main import main\nmain(first={page!r})", default_timeout=90)
    for name, text in query.items():
        at.query_params[name] = text
    fine(at.run())
    if query.get("run") == "own":
        fine(at.button(key="w_e_sample").click().run())
        fine(at.button(key="fit_do").click().run())
    if "chunks" in keys:
        fine(unfolded(at, "tables", "tab.chunks"))
        fine(at.button(key="chunks_find").click().run())
    assert set(drawn) >= keys
    for picture in drawn.values():
        picture.to_dict(validate=True)
    if "tried" in keys:
        labels = drawn["tried"].data["cause"]
        assert max(len(line) for label in labels for line in label.splitlines()) <= 26, "a phone has no room for bars"


def test_the_schema_can_say_no():
    with pytest.raises(alt.utils.schemapi.SchemaValidationError):
        alt.Chart().mark_point(color=["no", "colour"]).to_dict(validate=True)
