"""The turns of clients: nobody gets more of the server than one rerun at a time, and nobody's place is lost."""

import asyncio
import random

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from collsim.app.server import turns
from collsim.app.server.access_control import AccessControl
from collsim.app.server.clients import ClientLimits, Clients
from collsim.app.server.turns import PageTurn, Turns


def rerun(part=""):
    message = BackMsg()
    message.rerun_script.query_string, message.rerun_script.fragment_id = "a=b", part
    return message.SerializeToString()


def ended(how=ForwardMsg.FINISHED_SUCCESSFULLY):
    return ForwardMsg(script_finished=how).SerializeToString()


def used(places, **seconds):
    """What clients have used of late."""
    for who, spent in seconds.items():
        places._use.begins((who,))
        places._use.ends((who,), spent)


@pytest.fixture
def no_rest(monkeypatch):
    """The clock of these tests goes on by what runs only, so that nobody would come to the end of a rest."""
    monkeypatch.setattr(turns, "REST", 0.0)


def order_of(wishes, most=1):
    """Who runs after whom, where each wish is (client, seconds); the clock goes on by what runs."""

    async def run():
        now, order = [0.0], []
        places = Turns(most=most, clock=lambda: now[0])

        async def work(who, seconds):
            place = await places.take(who)
            order.append(who)
            await asyncio.sleep(0)
            now[0] += seconds
            places.give_back(place)

        await asyncio.gather(*(work(*wish) for wish in wishes))
        assert not places._places
        return order

    return asyncio.run(run())


@pytest.mark.usefixtures("no_rest")
def test_one_with_a_hundred_wishes_gets_what_one_with_one_gets():
    order = order_of([("greedy", 1.0)] * 100 + [(f"student {i}", 1.0) for i in range(20)], most=2)
    assert len(order) == 120
    assert (
        max(order.index(f"student {i}") for i in range(20)) <= 42
    )  # at most every second place goes to the greedy one


@pytest.mark.usefixtures("no_rest")
def test_of_two_that_never_rest_each_gets_half_of_the_time_whatever_a_rerun_takes():
    order = order_of([("dear", 3.0)] * 30 + [("cheap", 1.0)] * 90)
    for k in range(4, 120, 4):
        assert order[:k].count("cheap") == pytest.approx(3 * order[:k].count("dear"), abs=3)


@pytest.mark.usefixtures("no_rest")
def test_nobody_waits_for_ever_because_others_ask_for_less():
    many = [(f"student {i}", 0.1) for _ in range(50) for i in range(10)]
    order = order_of([("dear", 2.0), ("dear", 2.0), *many])
    # 2 s are twenty reruns of each of the ten others
    assert order[201:].index("dear") <= 1


@pytest.mark.usefixtures("no_rest")
def test_who_comes_after_a_rest_comes_next_and_has_saved_nothing():
    async def run():
        now, order = [0.0], []
        places = Turns(most=1, clock=lambda: now[0])

        async def work(who):
            place = await places.take(who)
            order.append(who)
            now[0] += 1.0
            await asyncio.sleep(0)
            places.give_back(place)

        busy = [asyncio.create_task(work(who)) for _ in range(20) for who in ("a", "b")]
        for _ in range(10):
            await asyncio.sleep(0)
        before = len(order)
        rested = [asyncio.create_task(work("rested")) for _ in range(5)]
        await asyncio.gather(*busy, *rested)
        return order[before:]

    order = asyncio.run(run())
    assert "rested" in order[:2]
    assert order[:12].count("rested") <= 5  # a third of the time, not all of it


def test_those_who_used_much_hold_half_of_the_places_at_most():
    async def run():
        now = [0.0]
        places = Turns(most=4, clock=lambda: now[0])
        used(places, x=100.0, y=100.0, z=100.0, a=2.0, b=2.0, c=2.0)
        waits = {who: asyncio.create_task(places.take(who)) for who in ("x", "y", "z")}
        await asyncio.sleep(0)
        assert [task.done() for task in waits.values()] == [True, True, False]
        waits |= {who: asyncio.create_task(places.take(who)) for who in ("a", "b", "c")}
        await asyncio.sleep(0)
        assert [who for who, task in waits.items() if task.done()] == ["x", "y", "a", "b"]
        places.give_back(waits["a"].result())
        await asyncio.sleep(0)
        assert waits["c"].done()
        assert not waits["z"].done()
        now[0] = 3600.0  # long ago
        places.give_back(waits["b"].result())
        await asyncio.sleep(0)
        assert waits["z"].done()

    asyncio.run(run())


@pytest.mark.usefixtures("no_rest")
def test_who_used_much_begins_while_nobody_else_runs_or_after_ten_seconds():
    async def run():
        now = [0.0]
        places = Turns(most=3, clock=lambda: now[0])
        used(places, x=100.0, y=100.0, a=1.0, b=1.0, c=1.0)
        modest = await places.take("a")
        greedy = [asyncio.create_task(places.take(who)) for who in "xy"]
        await asyncio.sleep(0)
        assert not greedy[0].done()
        now[0] = 1.0
        places.give_back(modest)
        await asyncio.sleep(0)
        assert [task.done() for task in greedy] == [True, False]
        await asyncio.wait_for(places.take("b"), 1)  # the others begin at once all the same
        places.give_back(greedy[0].result())
        await asyncio.sleep(0)
        assert not greedy[1].done()
        now[0] = 10.0
        await asyncio.wait_for(places.take("c"), 1)  # whatever happens next
        await asyncio.wait_for(greedy[1], 1)

    asyncio.run(run())


def test_those_who_used_much_leave_the_lock_to_others_for_twice_the_time_that_they_had_it():
    async def run():
        now = [0.0]
        places = Turns(most=3, clock=lambda: now[0])
        used(places, x=100.0, y=100.0, a=1.0, b=1.0, c=1.0)
        first = await places.take("x")
        now[0] = 0.02
        places.give_back(first)
        greedy = asyncio.create_task(places.take("y"))
        await asyncio.sleep(0)
        assert not greedy.done()
        places.give_back(await asyncio.wait_for(places.take("a"), 1))  # the others need no rest
        assert not greedy.done()
        now[0] = 0.02 + turns.REST * 0.02
        await asyncio.wait_for(greedy, 1)  # nobody asks for anything: it comes by itself

    asyncio.run(run())


def test_who_asks_without_a_pause_has_a_turn_beside_others_every_ten_seconds_however_long_its_pages_wait():
    async def run():
        now = [0.0]
        places = Turns(most=3, clock=lambda: now[0])
        used(places, x=1000.0, a=1.0, b=1.0, c=1.0)
        await places.take("a")  # somebody else runs all the time
        waits = [asyncio.create_task(places.take("x")) for _ in range(4)]
        await asyncio.sleep(0)
        for second in range(1, 41):
            now[0] = float(second)
            for task in waits:
                if task.done() and task.result() in places._places:
                    places.give_back(task.result())
            places._fill()
            await asyncio.sleep(0)
            yield second, sum(task.done() for task in waits)

    async def counted():
        return [count async for _, count in run()]

    counts = asyncio.run(counted())
    assert [counts[second - 1] for second in (9, 10, 19, 20, 29, 30, 39, 40)] == [0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize(("most", "held"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)])
def test_of_an_odd_number_of_places_the_smaller_half_goes_to_those_who_used_much(most, held):
    async def run():
        places = Turns(most=most, clock=lambda: 0.0)
        used(places, x=100.0, y=100.0, z=100.0, a=1.0, b=1.0, c=1.0)
        waits = [asyncio.create_task(places.take(who)) for who in "xyz"]
        await asyncio.sleep(0)
        return sum(task.done() for task in waits)

    assert asyncio.run(run()) == held


def test_a_rerun_is_charged_its_share_of_the_lock_and_not_the_time_beside_others():
    async def run():
        now = [0.0]
        places = Turns(most=3, clock=lambda: now[0])
        pages = {who: PageTurn(places, who) for who in "abc"}
        await pages["a"].asked(rerun())
        now[0] = 4.0  # alone
        await pages["b"].asked(rerun())
        now[0] = 6.0  # one of two
        await pages["c"].asked(rerun())
        now[0] = 9.0  # one of three
        for page in pages.values():
            page.answered(ended())
        return [places._use.seconds(who) for who in "abc"]

    assert asyncio.run(run()) == pytest.approx([4 + 1 + 1, 1 + 1, 1], rel=0.1)  # the half-life of a minute in 9 s


def test_where_all_use_much_nobody_is_held_back_for_it():
    async def run():
        places = Turns(most=4, clock=lambda: 0.0)
        used(places, a=100.0, b=100.0, c=100.0, d=100.0)
        for who in "abcd":
            await asyncio.wait_for(places.take(who), 1)

    asyncio.run(run())


def test_never_more_run_than_there_are_places_and_in_the_end_none():
    async def run():
        places, running, most = Turns(most=5, of_one=2), dict.fromkeys("abcdefg", 0), [0, 0]
        rng = random.Random(0)

        async def work(who):
            place = await places.take(who)
            running[who] += 1
            most[:] = max(most[0], running[who]), max(most[1], sum(running.values()))
            try:
                await asyncio.sleep(0.0001 * rng.random())
            finally:
                running[who] -= 1
                places.give_back(place)

        tasks = [asyncio.create_task(work(rng.choice("abcdefg"))) for _ in range(400)]
        await asyncio.sleep(0.003)
        for task in rng.sample(tasks, 100):  # given up while they wait, as their turn comes, or while they run
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, places

    most, places = asyncio.run(run())
    assert most == [2, 5]
    assert not places._waiting
    assert not places._places


def test_a_turn_that_came_to_somebody_who_has_gone_is_passed_on():
    async def run():
        places = Turns(most=1)
        place = await places.take("a")
        gone, waits = asyncio.create_task(places.take("b")), asyncio.create_task(places.take("c"))
        await asyncio.sleep(0)
        places.give_back(place)  # b's turn has come, but b does not know yet
        gone.cancel()
        await asyncio.wait_for(waits, 1)

    asyncio.run(run())


def test_a_rerun_ends_where_the_script_says_so_and_not_before(monkeypatch):
    async def run():
        places = Turns(most=1)
        page = PageTurn(places, "a")
        await page.asked(b"\xff not a message")
        await page.asked(BackMsg(clear_cache=True).SerializeToString())
        assert not places._places
        await page.asked(rerun())
        await page.asked(rerun())  # a click while it runs becomes part of it
        assert [place.who for place in places._places] == ["a"]
        for said in (b"", b"\xff\xff", ended(ForwardMsg.FINISHED_EARLY_FOR_RERUN), b"x" * 5000):
            page.answered(said)
        assert [place.who for place in places._places] == ["a"]
        page.answered(ended(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY))
        page.answered(ended())
        assert not places._places

    asyncio.run(run())


@pytest.mark.parametrize("how", ["closed", "silent"])
def test_a_page_that_closes_or_never_ends_keeps_its_place_only_for_a_while(how, monkeypatch):
    monkeypatch.setattr(turns, "HELD", 0.01 if how == "silent" else 6)
    monkeypatch.setattr(turns, "LONGEST", 0.05 if how == "silent" else 60)
    monkeypatch.setattr(turns, "STOPPING", 0.02)

    async def run():
        places = Turns(most=1)
        page = PageTurn(places, "a")
        await page.asked(rerun())
        if how == "closed":
            page.left()
        assert [place.who for place in places._places] == ["a"], "its script may still run"
        await asyncio.wait_for(places.take("b"), 5)
        page.answered(ended())
        assert [place.who for place in places._places] == ["b"]

    asyncio.run(run())


def test_who_never_says_that_a_rerun_has_ended_blocks_nobody_else_and_gets_no_other_one(monkeypatch):
    monkeypatch.setattr(turns, "HELD", 0.02)

    async def run():
        places = Turns(most=2)
        deaf = [PageTurn(places, who) for who in ("x", "y")]
        for page in deaf:
            await page.asked(rerun())
        more = asyncio.create_task(places.take("x"))
        for who in "abcd":  # one after another, as places come free
            places.give_back(await asyncio.wait_for(places.take(who), 5))
        assert not more.done()
        deaf[0].answered(ended())
        await asyncio.wait_for(more, 5)
        assert len(places._held()) == 1
        assert places._use.seconds("x") > 0

    asyncio.run(run())


def test_a_class_behind_one_address_has_a_rerun_for_every_twelve_pages():
    assert AccessControl(None, None, Clients()).turns.of_one == 1
    assert AccessControl(None, None, Clients(ClientLimits(tabs=36))).turns.of_one == 3
    assert AccessControl(None, None, Clients(ClientLimits(tabs=2))).turns.of_one == 1


def test_the_door_lets_a_second_rerun_of_a_client_through_when_the_first_has_ended():
    async def run():
        reached, ends = [], asyncio.Event()

        async def app(scope, receive, send):
            assert (await receive())["type"] == "websocket.receive"
            reached.append(scope["path"])
            await ends.wait()
            await send({"type": "websocket.send", "bytes": ended()})

        door = AccessControl(app, None, Clients())

        async def page(who, path):
            async def receive():
                return {"type": "websocket.receive", "bytes": rerun()}

            async def send(message):
                pass

            await door._serve_page(who, {"path": path, "type": "websocket"}, receive, send)

        pages = [asyncio.create_task(page(*who)) for who in (("a", "/1"), ("a", "/2"), ("b", "/3"))]
        await asyncio.sleep(0.05)
        assert reached == ["/1", "/3"]
        ends.set()
        await asyncio.gather(*pages)
        assert reached == ["/1", "/3", "/2"]

    asyncio.run(run())


def test_who_asks_again_and_again_needs_another_turn_when_its_place_has_gone_to_others(monkeypatch):
    monkeypatch.setattr(turns, "HELD", 0.02)

    async def run():
        places = Turns(most=1)
        storm = PageTurn(places, "storm")
        await storm.asked(rerun())
        await storm.asked(rerun())  # part of it
        student = await asyncio.wait_for(places.take("student"), 5)  # as the storm's place has lapsed
        await storm.asked(BackMsg(clear_cache=True).SerializeToString())  # what asks for no rerun passes
        again = asyncio.create_task(storm.asked(rerun()))
        await asyncio.sleep(0)
        assert not again.done()
        storm.answered(ended(ForwardMsg.FINISHED_EARLY_FOR_RERUN))
        storm.answered(ended())
        await asyncio.sleep(0)
        assert not again.done(), "the student's rerun has the place"
        places.give_back(student)
        await asyncio.wait_for(again, 5)
        assert [place.who for place in places._held()] == ["storm"]

    asyncio.run(run())


def test_a_part_that_has_gone_from_the_page_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(turns, "STARTING", 0.02)

    async def run():
        places = Turns(most=1)
        page = PageTurn(places, "a")
        await page.asked(rerun("gone"))  # Streamlit runs nothing and says nothing
        await asyncio.sleep(0.05)
        assert not places._places
        await page.asked(rerun("there"))
        page.answered(ForwardMsg(new_session={}).SerializeToString())
        await asyncio.sleep(0.05)
        assert len(places._held()) == 1
        page.answered(ended(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY))
        assert not places._places

    asyncio.run(run())


def test_an_end_that_nobody_hears_of_holds_a_page_up_for_a_while_only(monkeypatch):
    monkeypatch.setattr(turns, "HELD", 0.02)

    async def run():
        page = PageTurn(Turns(most=1), "a")
        await page.asked(rerun())
        await asyncio.sleep(0.05)
        await asyncio.wait_for(page.asked(rerun()), 5)

    asyncio.run(run())


def test_a_turn_that_comes_to_a_page_that_has_closed_does_not_stay_with_it(monkeypatch):
    monkeypatch.setattr(turns, "HELD", 0.02)

    async def run():
        places = Turns(most=1)
        first = await places.take("a")
        page = PageTurn(places, "b")
        late = asyncio.create_task(page.asked(rerun()))
        await asyncio.sleep(0)
        page.left()
        places.give_back(first)
        await late
        await asyncio.sleep(0.05)
        assert not places._places

    asyncio.run(run())
