"""What one client and all together may ask for: pages, reruns in their turn, uploads, tries of the join code."""

import pytest

from collsim.app.server.admission import LENGTH, Admission, code_wanted
from collsim.app.server.clients import FORGOTTEN, ClientLimits, Clients, client_of
from collsim.errors import CollsimError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def clients(clock, **limits):
    return Clients(ClientLimits(**limits), clock)


def test_a_client_opens_so_many_pages_and_another_one_is_not_counted_with_it(clock):
    held = clients(clock, tabs=2)
    assert [held.enter("a") for _ in range(3)] == [True, True, False]
    assert held.enter("b")
    held.leave("a")
    assert held.enter("a")


def test_all_together_open_so_many_pages(clock):
    held = clients(clock, tabs=2, all=3)
    assert [held.enter(who) for who in "aabbcc"] == [True, True, True, False, False, False]
    assert held.tabs == 3


def test_reruns_beyond_the_burst_wait_their_turn_and_only_those_of_who_asks_too_often(clock):
    held = clients(clock, tabs=2, reruns=0.5, burst=5)  # 2 pages: 1 rerun per second, 10 at once
    held.enter("a")
    held.enter("b")
    waits = [held.wait("a") for _ in range(13)]
    assert waits[:10] == [0.0] * 10
    assert waits[10:] == pytest.approx([1.0, 2.0, 3.0])
    assert held.wait("b") == 0.0
    clock.now += 13.0  # three seconds for those that wait, ten for a new burst
    assert [held.wait("a") for _ in range(11)] == pytest.approx([0.0] * 10 + [1.0])


def test_all_reruns_together_have_a_pace_too(clock):
    held = clients(clock, tabs=1000, reruns_in_all=2.0)
    held.enter("a")
    assert [held.wait("a") for _ in range(4)] == pytest.approx([0.0, 0.0, 0.5, 1.0])


def test_uploads_count_until_they_are_taken_back_or_the_client_has_long_gone(clock):
    held = clients(clock, upload_bytes=100, upload_bytes_in_all=150)
    held.enter("a")
    assert held.upload("a", "/1", 60)
    assert not held.upload("a", "/2", 60)
    assert held.upload("a", "/1", 90), "the same file again takes the place of the first"
    assert not held.upload("b", "/1", 80), "90 and 80 bytes are more than all may hold"
    held.drop("a", "/1")
    assert held.upload("b", "/1", 80)
    held.upload("a", "/2", 70)
    held.leave("a")
    clock.now += FORGOTTEN + 1
    held.enter("a")
    assert held.upload("a", "/3", 70), "the earlier ones are forgotten"


def test_only_wrong_codes_use_up_tries_and_they_come_back(clock):
    held = clients(clock, tries=3)
    assert all(held.may_try("a") for _ in range(10))
    for _ in range(3):
        assert held.may_try("a")
        held.failed("a")
    assert not held.may_try("a")
    assert held.may_try("b")
    clock.now += 20.0  # three a minute
    assert held.may_try("a")


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.168.1.5", "192.168.1.5"),
        ("127.0.0.1", ""),
        ("::1", ""),
        ("::ffff:127.0.0.1", ""),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_client_is_an_address_and_of_ipv6_a_network_of_one_device(host, client):
    assert client_of(host) == client


def test_a_code_opens_however_it_is_typed_and_no_other_does():
    admission = Admission()
    assert len(admission.code) == LENGTH
    assert admission.opens(f" {admission.code[:3].upper()}-{admission.code[3:]} ")
    for wrong in ("", admission.code[:-1], admission.code + "x", "é" * 6):
        assert not admission.opens(wrong)
    assert Admission().code != admission.code


def test_a_cookie_is_known_to_the_server_that_gave_it_only():
    admission = Admission("bcdfgh")
    cookie = admission.cookie()
    assert admission.knows(cookie)
    word, _, signature = cookie.rpartition(".")
    for wrong in ("", ".", cookie + "0", f"{word}x.{signature}", f".{signature}", Admission("bcdfgh").cookie()):
        assert not admission.knows(wrong)


def test_a_code_of_ones_own_may_be_kept_unless_it_is_easily_guessed(monkeypatch):
    monkeypatch.setenv("COLLSIM_JOIN_CODE", "Winter2026")
    assert code_wanted() == "winter2026"
    for short in ("abc", "pass word", "密码密码密码"):
        monkeypatch.setenv("COLLSIM_JOIN_CODE", short)
        with pytest.raises(CollsimError, match="at least 6"):
            code_wanted()


def test_a_client_that_opens_and_drops_pages_is_slowed_and_another_one_is_not(clock):
    held = clients(clock, tabs=2, opened=5.0)  # 10 a minute, 4 at once

    def opened(who):
        if not held.enter(who):
            return False
        held.leave(who)
        return True

    assert [opened("a") for _ in range(6)] == [True] * 4 + [False] * 2
    assert opened("b")
    clock.now += 6.0
    assert [opened("a") for _ in range(2)] == [True, False]
