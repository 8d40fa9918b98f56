"""A machine is taken along from Machines and from Measured: each of the four pages opens on it, with nothing left of
another one."""

import pytest
from sampling import cross
from streamlit.testing.v1 import AppTest
from test_pages import fine

from collsim.app.main import PAGES
from collsim.app.pages.race import lineup
from collsim.app.pages.whatif.run_edits import Edit
from collsim.app.scenario import custom_machine


def machines():
    """A machine of the catalogue that is looked at; its buttons' name, and the place of a choice that is on it."""
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='machines')", default_timeout=60)
    at.query_params["machine"], at.query_params["nodes"] = "dgx-h100", "2"
    return fine(at.run()), "open_in", "dgx-h100", 2


def measured():
    """The same for a machine that was calibrated to a log."""
    at = fine(
        AppTest.from_string("from collsim.app.main import main\nmain(first='measured')", default_timeout=60).run()
    )
    fine(at.selectbox(key="w_e_run").set_value("own").run())
    fine(at.button(key="w_e_sample").click().run())
    return fine(at.button(key="fit_do").click().run()), "open_in_fit", custom_machine.OWN, 2


@pytest.mark.parametrize(
    ("page", "link"), cross([name for name, page in PAGES.items() if page.takes_machine], [machines, measured])
)
def test_every_page_opens_on_the_machine_that_is_taken_along(link, page):
    at, key, place, nodes = link()
    kept = at.session_state["session"].page_values
    kept |= {
        "race": lineup.READY["p2p"],
        "whatif": Edit(gdr="same", cable="node0/gpu0~node0/pcie0", cable_change="cut"),
    }
    fine(at.button(key=f"{key}_{page}").click().run())
    session = at.session_state["session"]
    assert (session.page, session.choice.machine, session.choice.nodes) == (page, place, nodes)
    assert ("calibration:" in session.choice.machine_text) == (place == custom_machine.OWN)
    if page == "race":
        assert {(one.machine, one.nodes, one.machine_text) for one in kept["race"]} == {
            (place, nodes, session.choice.machine_text)
        }
    if page == "whatif":
        assert kept["whatif"] == Edit()
    at.run()
    assert not at.exception
    assert (session.page, session.choice.machine) == (page, place)
