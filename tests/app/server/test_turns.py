"""The turns of clients: nobody gets more of the server than one rerun at a time, and nobody's place is lost."""

import asyncio
import random

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from collsim.app.server import turns
from collsim.app.server.clients import ClientLimits, Clients
from collsim.app.server.door import Door
from collsim.app.server.turns import PageTurn, Turns


def rerun():
    message = BackMsg()
    message.rerun_script.query_string = "a=b"
    return message.SerializeToString()


def ended(how=ForwardMsg.FINISHED_SUCCESSFULLY):
    return ForwardMsg(script_finished=how).SerializeToString()


def test_one_with_a_hundred_wishes_gets_what_one_with_one_gets():
    async def run():
        places, order = Turns(most=2, clock=lambda: 0.0), []

        async def work(who):
            await places.take(who)
            order.append(who)
            await asyncio.sleep(0)
            places.give_back(who, 1.0)

        greedy = [asyncio.create_task(work("greedy")) for _ in range(100)]
        await asyncio.sleep(0)
        others = [asyncio.create_task(work(f"student {i}")) for i in range(20)]
        await asyncio.gather(*greedy, *others)
        return order

    order = asyncio.run(run())
    assert len(order) == 120
    assert (
        max(order.index(f"student {i}") for i in range(20)) <= 42
    )  # at most every second place went to the greedy one


def test_those_who_used_much_hold_half_of_the_places_at_most_and_the_others_come_first():
    async def run():
        now = [0.0]
        places = Turns(most=4, clock=lambda: now[0])
        for who, seconds in (("x", 100.0), ("y", 100.0), ("z", 100.0), ("a", 2.0), ("b", 2.0), ("c", 2.0)):
            await places.take(who)
            places.give_back(who, seconds)
        waits = {who: asyncio.create_task(places.take(who)) for who in ("x", "y", "z")}
        await asyncio.sleep(0)
        assert [task.done() for task in waits.values()] == [True, True, False]
        waits |= {who: asyncio.create_task(places.take(who)) for who in ("a", "b", "c")}
        await asyncio.sleep(0)
        assert [who for who, task in waits.items() if task.done()] == ["x", "y", "a", "b"]
        places.give_back("x", 1.0)
        await asyncio.sleep(0)
        assert waits["c"].done()
        assert not waits["z"].done()
        now[0] = 3600.0  # long ago
        places.give_back("a", 1.0)
        await asyncio.sleep(0)
        assert waits["z"].done()

    asyncio.run(run())


def test_where_all_use_much_nobody_is_held_back_for_it():
    async def run():
        places = Turns(most=4, clock=lambda: 0.0)
        for who in "abcd":
            await places.take(who)
            places.give_back(who, 100.0)
        for who in "abcd":
            await asyncio.wait_for(places.take(who), 1)

    asyncio.run(run())


def test_never_more_run_than_there_are_places_and_in_the_end_none():
    async def run():
        places, running, most = Turns(most=5, of_one=2), dict.fromkeys("abcdefg", 0), [0, 0]
        rng = random.Random(0)

        async def work(who):
            await places.take(who)
            running[who] += 1
            most[:] = max(most[0], running[who]), max(most[1], sum(running.values()))
            try:
                await asyncio.sleep(0.0001 * rng.random())
            finally:
                running[who] -= 1
                places.give_back(who, 1.0)

        tasks = [asyncio.create_task(work(rng.choice("abcdefg"))) for _ in range(400)]
        await asyncio.sleep(0.003)
        for task in rng.sample(tasks, 100):  # given up while they wait, as their turn comes, or while they run
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, places

    most, places = asyncio.run(run())
    assert most == [2, 5]
    assert not places._waiting
    assert not places._running


def test_a_turn_that_came_to_somebody_who_has_gone_is_passed_on():
    async def run():
        places = Turns(most=1)
        await places.take("a")
        gone, waits = asyncio.create_task(places.take("b")), asyncio.create_task(places.take("c"))
        await asyncio.sleep(0)
        places.give_back("a", 1.0)  # b's turn has come, but b does not know yet
        gone.cancel()
        await asyncio.wait_for(waits, 1)

    asyncio.run(run())


def test_a_rerun_ends_where_the_script_says_so_and_not_before(monkeypatch):
    async def run():
        places = Turns(most=1)
        page = PageTurn(places, "a")
        await page.asked(b"\xff not a message")
        await page.asked(BackMsg(clear_cache=True).SerializeToString())
        assert not places._running
        await page.asked(rerun())
        await page.asked(rerun())  # a click while it runs becomes part of it
        assert places._running == {"a": 1}
        for said in (b"", b"\xff\xff", ended(ForwardMsg.FINISHED_EARLY_FOR_RERUN), b"x" * 5000):
            page.answered(said)
        assert places._running == {"a": 1}
        page.answered(ended(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY))
        page.answered(ended())
        assert not places._running

    asyncio.run(run())


@pytest.mark.parametrize("how", ["closed", "silent"])
def test_a_page_that_closes_or_never_ends_keeps_its_place_only_for_a_while(how, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST", 0.05 if how == "silent" else 60)
    monkeypatch.setattr(turns, "STOPPING", 0.02)

    async def run():
        places = Turns(most=1)
        page = PageTurn(places, "a")
        await page.asked(rerun())
        if how == "closed":
            page.left()
        assert places._running == {"a": 1}, "its script may still run"
        await asyncio.wait_for(places.take("b"), 5)
        page.answered(ended())
        assert places._running == {"b": 1}

    asyncio.run(run())


def test_a_class_behind_one_address_has_a_rerun_for_every_twelve_pages():
    assert Door(None, None, Clients()).turns.of_one == 1
    assert Door(None, None, Clients(ClientLimits(tabs=36))).turns.of_one == 3
    assert Door(None, None, Clients(ClientLimits(tabs=2))).turns.of_one == 1


def test_the_door_lets_a_second_rerun_of_a_client_through_when_the_first_has_ended():
    async def run():
        reached, ends = [], asyncio.Event()

        async def app(scope, receive, send):
            assert (await receive())["type"] == "websocket.receive"
            reached.append(scope["path"])
            await ends.wait()
            await send({"type": "websocket.send", "bytes": ended()})

        door = Door(app, None, Clients())

        async def page(who, path):
            async def receive():
                return {"type": "websocket.receive", "bytes": rerun()}

            async def send(message):
                pass

            await door._page(who, {"path": path, "type": "websocket"}, receive, send)

        pages = [asyncio.create_task(page(*who)) for who in (("a", "/1"), ("a", "/2"), ("b", "/3"))]
        await asyncio.sleep(0.05)
        assert reached == ["/1", "/3"]
        ends.set()
        await asyncio.gather(*pages)
        assert reached == ["/1", "/3", "/2"]

    asyncio.run(run())
