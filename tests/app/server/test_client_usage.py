"""How much each client has used of late: older seconds count less, and all are compared at one moment."""

from collsim.app.server.client_usage import ClientUsage


def test_what_a_client_used_counts_less_as_time_passes_and_this_computer_uses_nothing():
    now = [0.0]
    usage = ClientUsage(clock=lambda: now[0])
    usage.add({"a", ""}, 1.0)
    usage.add({"a", ""}, 7.0)
    assert [usage.seconds(client) for client in ("a", "b", "")] == [8.0, 0.0, 0.0]
    assert usage.sort_jobs(["a", "ab", "b", "", "aa"], list) == ["ab", "b", "", "a", "aa"]
    now[0] = 120.0
    assert usage.seconds("a") == 2.0
    usage.add({"a"}, -5.0)
    assert usage.seconds("a") == 0.0, "never less than nothing"
    usage.add({"c"}, 1.0)
    now[0] = 6000.0
    usage.add({"b"}, 1.0)
    assert usage._records.keys() == {"b"}, "nothing grows without end"


def test_a_client_is_heavy_beyond_its_budget_unless_all_are():
    usage = ClientUsage(clock=lambda: 0.0)
    for client, seconds in {"a": 10.0, "b": 1.0, "c": 1.0}.items():
        usage.add({client}, seconds)
    assert [usage.is_heavy(client, 5.0) for client in "abc"] == [True, False, False]
    assert not usage.is_heavy("a", 12.0)
    usage.add("bc", 8.0)
    assert not any(usage.is_heavy(client, 5.0) for client in "abc")


def test_clients_are_compared_at_one_moment_however_long_the_comparison_takes():
    """Two who used as much, one of them a moment later: had time gone by between two looks, she would come first."""
    now, ticks = [0.0], 0.0

    def slow():
        now[0] += ticks
        return now[0]

    usage = ClientUsage(slow)
    for client in ("a", "c"):
        usage.add({client}, 101.0)
        now[0] += 0.001
    ticks = 1.0
    assert usage.sort_jobs(["a1", "c1"], lambda job: [job[0]]) == ["a1", "c1"]
