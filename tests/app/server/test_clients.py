"""What one client and all together may ask for: pages, reruns in their turn, uploads, tries of the join code."""

import pytest

from collsim.app.server.clients import ClientLimits, Clients, identify_client
from collsim.app.server.connections import CONNECTIONS_PER_PAGE
from collsim.app.server.join_code import LENGTH, LETTERS, JoinCode, read_join_code
from collsim.errors import CollsimError

#: What Chromium made to load the page Measured with nothing stored, and the most that it keeps open for it.
REQUESTS_OF_A_PAGE, CONNECTIONS_OF_A_BROWSER = 147, 7


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
    held = clients(clock, pages=2)
    assert [held.open_page("a") for _ in range(3)] == [True, True, False]
    assert held.open_page("b")
    held.close_page("a")
    assert held.open_page("a")


def test_all_together_open_so_many_pages(clock):
    held = clients(clock, pages=2, pages_in_all=3)
    assert [held.open_page(who) for who in "aabbcc"] == [True, True, True, False, False, False]
    assert held.pages == 3


def test_reruns_beyond_the_burst_wait_their_turn_and_only_those_of_who_asks_too_often(clock):
    limits = {"messages_per_page": 0.5, "messages_at_once_per_page": 5}
    held = clients(clock, pages=2, **limits)  # 1 rerun per second, 10 at once
    held.open_page("a")
    held.open_page("b")
    waits = [held.pace_message("a") for _ in range(13)]
    assert waits[:10] == [0.0] * 10
    assert waits[10:] == pytest.approx([1.0, 2.0, 3.0])
    assert held.pace_message("b") == 0.0
    clock.now += 13.0  # three seconds for those that wait, ten for a new burst
    assert [held.pace_message("a") for _ in range(11)] == pytest.approx([0.0] * 10 + [1.0])


def test_all_reruns_together_have_a_pace_too(clock):
    held = clients(clock, pages=1000, messages_in_all=2.0)
    held.open_page("a")
    assert [held.pace_message("a") for _ in range(4)] == pytest.approx([0.0, 0.0, 0.5, 1.0])


def test_only_wrong_codes_use_up_tries_and_they_come_back(clock):
    held = clients(clock, wrong_codes=3)
    assert all(held.may_try_code("a", "") for _ in range(10))
    for _ in range(3):
        assert held.may_try_code("a", "")
        held.count_wrong_code("a", "")
    assert not held.may_try_code("a", "")
    assert held.may_try_code("b", "")
    clock.now += 20.0  # three a minute
    assert held.may_try_code("a", "")


def test_a_browser_that_tries_too_often_does_not_keep_out_others_behind_its_address(clock):
    held = clients(clock)
    tries = 0
    while held.may_try_code("school", "confused"):
        held.count_wrong_code("school", "confused")
        tries += 1
    assert tries == 20
    assert held.may_try_code("school", "other")
    assert held.may_try_code("school", ""), "a browser that has no cookie yet"


def test_a_class_of_thirty_behind_one_address_waits_for_nothing(clock):
    """As docs/teaching.md has it, `--tabs 40`: all load the page in the same second, click, and load it again 20 s later."""
    nat, students = clients(clock, pages=40), range(30)
    for _ in range(2):
        assert [nat.pace_request("school") for _ in students for _ in range(REQUESTS_OF_A_PAGE)] == [0.0] * (
            len(students) * REQUESTS_OF_A_PAGE
        )
        assert all(nat.open_page("school") for _ in students)
        assert [nat.pace_message("school") for _ in students for _ in range(3)] == [0.0] * (3 * len(students))
        clock.now += 20.0
        for _ in students:
            nat.close_page("school")
    assert len(students) * CONNECTIONS_OF_A_BROWSER <= 40 * CONNECTIONS_PER_PAGE


def guesses(held, clock, minutes, addresses=1):
    """Wrong codes that are tried by somebody who tries without a pause and keeps no cookie."""
    count = 0
    for _ in range(60 * minutes):
        clock.now += 1.0
        for k in range(addresses):
            while held.may_try_code(f"address {k}", ""):
                held.count_wrong_code(f"address {k}", "")
                count += 1
    return count


@pytest.mark.parametrize(("addresses", "days"), [(1, 136), (100, 27)])
def test_who_tries_codes_without_a_pause_needs_months_or_weeks(clock, addresses, days):
    """The figures that the limits and SECURITY.md name."""
    minutes, held = 10, clients(clock)
    guesses(held, clock, 1, addresses)  # those at once, which come once in months
    per_minute = guesses(held, clock, minutes, addresses) / minutes
    assert len(LETTERS) ** LENGTH == 47_045_881
    assert round(len(LETTERS) ** LENGTH / 2 / per_minute / 60 / 24) == pytest.approx(days, abs=1)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.168.1.5", "192.168.1.5"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::/64"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_client_is_an_address_and_of_ipv6_a_network_of_one_device(host, client):
    assert identify_client(host) == client


def test_a_code_opens_however_it_is_typed_and_no_other_does():
    join_code = JoinCode()
    assert len(join_code.code) == LENGTH
    assert join_code.is_right(f" {join_code.code[:3].upper()}-{join_code.code[3:]} ")
    for wrong in ("", join_code.code[:-1], join_code.code + "x", "é" * 6):
        assert not join_code.is_right(wrong)
    assert JoinCode().code != join_code.code


def test_a_cookie_is_known_to_the_server_that_gave_it_only():
    join_code = JoinCode("bcdfgh")
    cookie = join_code.members.issue()
    assert join_code.members.is_issued(cookie)
    assert not join_code.browsers.is_issued(cookie), "a cookie of one purpose is none of another"
    word, _, signature = cookie.rpartition(".")
    for wrong in ("", ".", cookie + "0", f"{word}x.{signature}", f".{signature}", JoinCode("bcdfgh").members.issue()):
        assert not join_code.members.is_issued(wrong)


def test_a_code_of_ones_own_may_be_kept_unless_it_is_easily_guessed(monkeypatch):
    monkeypatch.setenv("COLLSIM_JOIN_CODE", "Winter2026")
    assert read_join_code() == "winter2026"
    for short in ("abc", "pass word", "密码密码密码"):
        monkeypatch.setenv("COLLSIM_JOIN_CODE", short)
        with pytest.raises(CollsimError, match="at least 6"):
            read_join_code()


def test_a_client_that_opens_and_drops_pages_is_slowed_and_another_one_is_not(clock):
    held = clients(clock, pages=2, openings_per_page=5.0)  # 10 a minute, 4 at once

    def opened(who):
        if not held.open_page(who):
            return False
        held.close_page(who)
        return True

    assert [opened("a") for _ in range(6)] == [True] * 4 + [False] * 2
    assert opened("b")
    clock.now += 6.0
    assert [opened("a") for _ in range(2)] == [True, False]
