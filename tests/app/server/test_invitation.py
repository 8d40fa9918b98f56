"""What a teacher shows a class: an address that students can open, and the code, or why there is none."""

from urllib.parse import unquote

import pytest
import segno
from streamlit import config

from collsim.app.server import addresses, startup
from collsim.app.server.addresses import listens_on_loopback
from collsim.app.server.invitation import create_invitation
from collsim.app.server.join_code import render_qr_svg, render_qr_text
from collsim.errors import CollsimError


@pytest.fixture
def listens(monkeypatch):
    """A server that listens there, as its configuration says."""
    options = {"server.address": "127.0.0.1", "server.port": 8501}

    def set_address(address, shown=None):
        options["server.address"] = address
        options["browser.serverAddress"] = shown
        monkeypatch.setattr(config, "is_manually_set", lambda name: options.get(name) is not None)
        startup.get_join_code.cache_clear()

    monkeypatch.setattr(config, "get_option", lambda name: options.get(name))
    monkeypatch.setattr(addresses, "list_addresses", lambda: ["192.168.1.20", "10.0.0.5"])
    monkeypatch.setenv("COLLSIM_JOIN_CODE", "bcdfgh")
    yield set_address
    startup.get_join_code.cache_clear()


@pytest.mark.parametrize(
    ("address", "only_here"),
    [
        *[(here, True) for here in ("127.0.0.1", "localhost", "::1", "127.8.9.1")],
        *[(more, False) for more in ("0.0.0.0", None, "", "::", "192.168.1.20", "teacher")],
    ],
)
def test_a_server_listens_on_loopback_only_where_nobody_else_can_reach_it(listens, address, only_here):
    listens(address)
    assert listens_on_loopback() == only_here
    assert (startup.get_join_code() is None) == only_here, "a code is asked for whatever opened the server"


def test_a_teacher_at_the_computer_shows_its_real_address_and_the_code(listens):
    listens("0.0.0.0")
    way = create_invitation("http://localhost:8501/explore", **{"class": "wxyz"})
    assert way.address == "192.168.1.20:8501/?class=wxyz"
    assert way.link == "http://192.168.1.20:8501/?class=wxyz&join=bcdfgh"
    assert way.code == "BCDFGH"


def test_a_teacher_who_came_by_a_name_shows_that_name(listens):
    listens("0.0.0.0")
    assert (
        create_invitation("https://teacher.example/sim/explore", a="b").link
        == "https://teacher.example/sim/?a=b&join=bcdfgh"
    )


def test_the_address_that_was_asked_for_is_shown(listens):
    listens("0.0.0.0", "teacher.local")
    assert create_invitation("http://127.0.0.1:8501/").address.startswith("teacher.local:8501/")
    assert "http://teacher.local:8501/" in startup.describe_server()


def test_where_only_this_computer_reaches_the_server_there_is_nothing_to_join(listens):
    listens("127.0.0.1")
    way = create_invitation("http://localhost:8501/explore", **{"class": "wxyz"})
    assert (way.address, way.link, way.code) == ("localhost:8501/?class=wxyz", "", "")
    assert "collsim app --class" in startup.describe_server()


def test_the_terminal_shows_the_code_that_the_page_shows(listens):
    listens("0.0.0.0")
    said = startup.describe_server()
    assert render_qr_text("http://192.168.1.20:8501/?join=bcdfgh") in said
    assert "BCDFGH" in said
    assert "http://10.0.0.5:8501/" in said
    assert "http://localhost:8501/" in said


def test_a_picture_is_the_code_with_its_quiet_zone():
    modules = len(list(segno.make("http://192.168.1.20:8501/", micro=False).matrix))
    assert f"width='{(modules + 8) * 6}'" in unquote(render_qr_svg("http://192.168.1.20:8501/")), "6 pixels each"


@pytest.mark.parametrize("given", ["0", "-3", "many", "1001"])
def test_pages_of_a_client_are_a_number(monkeypatch, given):
    monkeypatch.setenv("COLLSIM_TABS_PER_CLIENT", given)
    with pytest.raises(CollsimError, match="from 1 to 1000"):
        startup.read_limits()
    monkeypatch.setenv("COLLSIM_TABS_PER_CLIENT", "40")
    assert startup.read_limits().pages == 40
