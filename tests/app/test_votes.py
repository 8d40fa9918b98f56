"""Rooms for a class: one vote per tab, hidden until the teacher reveals, bounded, and led only by who opened them."""

import pytest

import collsim as cs
from collsim.app.classroom import votes as voting
from collsim.app.classroom.votes import Asked, Full, Rooms
from collsim.app.scenario.choice import Choice
from collsim.teach import questions

TRACE = cs.simulate(
    cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4, bandwidth="25GB/s", alpha="1us"), "64MiB"
)
FOUND = questions(TRACE, 1, 8)
STEPS = next(k for k, q in enumerate(FOUND) if q.topic == "steps")
TIME = next(k for k, q in enumerate(FOUND) if q.topic == "time")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rooms(clock):
    return Rooms(clock)


def asked(number, choice=Choice()):  # noqa: B008
    return Asked(choice, 1, number, len(FOUND), FOUND[number])


def begun(rooms, number=STEPS):
    room = rooms.open()
    rooms.ask(room, asked(number))
    return room, room[:4]


def test_votes_are_counted_once_per_voter_and_shown_only_after_the_reveal(rooms):
    room, code = begun(rooms)
    right = int(FOUND[STEPS].answer)
    wrong = (right + 1) % len(FOUND[STEPS].choices)
    assert rooms.vote(code, "anna", wrong, 0)
    assert rooms.vote(code, "anna", right, 0), "one may change one's mind"
    assert rooms.vote(code, "bert", wrong, 0)
    board = rooms.look(code, "anna")
    assert (board.votes, board.groups, board.mine) == (2, (), right)
    rooms.reveal(room)
    board = rooms.look(code, "carl")
    assert [votes for _, votes, _ in board.groups] == [
        {right: 1, wrong: 1}.get(k, 0) for k in range(len(FOUND[STEPS].choices))
    ]
    assert [k for k, (_, _, is_right) in enumerate(board.groups) if is_right] == [right]
    assert board.mine is None
    assert not rooms.vote(code, "carl", right, 0), "the vote is over"


def test_numbers_that_read_the_same_are_one_group_and_the_commonest_come_first(rooms, monkeypatch):
    room, code = begun(rooms, TIME)
    answer = FOUND[TIME].answer
    for k, value in enumerate([answer, answer * 1.0001, 1.0, 1.0, 1.0, 2.0]):
        assert rooms.vote(code, f"v{k}", value, 0)
    rooms.reveal(room)
    groups = rooms.look(room).groups
    assert [(votes, right) for _, votes, right in groups] == [(3, False), (2, True), (1, False)]
    monkeypatch.setattr(voting, "MOST_GROUPS", 2)
    board = rooms.look(room)
    assert (len(board.groups), board.others) == (2, 1)


def test_the_next_question_begins_without_votes_and_a_late_vote_for_the_last_one_does_not_count(rooms):
    room, code = begun(rooms)
    assert rooms.vote(code, "anna", 0, 0)
    rooms.ask(room, asked(STEPS))
    assert rooms.look(room).votes == 1, "the teacher's page draws itself again and nothing is lost"
    rooms.ask(room, asked(TIME))
    assert rooms.look(room).votes == 0
    assert not rooms.vote(code, "bert", 0, 0)
    assert rooms.vote(code, "bert", 0.1, 1)
    rooms.again(room)
    assert rooms.look(room).votes == 0
    rooms.ask(room, asked(TIME, Choice(nbytes="1KiB")))
    assert rooms.look(room).asked.choice.nbytes == "1KiB"


def test_only_who_opened_a_room_leads_it(rooms):
    room, code = begun(rooms)
    for stranger in (code, f"{code}-00000000", f"{code}-", f"{code}-é"):
        rooms.reveal(stranger)
        rooms.close(stranger)
        rooms.ask(stranger, asked(TIME))
        rooms.again(stranger)
    board = rooms.look(room)
    assert board.asked.number == STEPS
    assert not board.revealed
    assert rooms.look(f"{code}-00000000") is None
    rooms.close(room)
    assert rooms.look(code) is None
    assert not rooms.leads(room)


@pytest.mark.parametrize("value", [-1.0, 4.0, 0.5, float("nan")])
def test_a_vote_for_no_choice_is_refused(rooms, value):
    _, code = begun(rooms)
    assert not rooms.vote(code, "anna", value, 0)


def test_rooms_voters_and_time_are_bounded(rooms, clock, monkeypatch):
    monkeypatch.setattr(voting, "MOST_ROOMS", 3)
    monkeypatch.setattr(voting, "MOST_VOTERS", 5)
    first, code = begun(rooms)
    others = [rooms.open() for _ in range(2)]
    with pytest.raises(Full):
        rooms.open()
    assert [rooms.vote(code, f"v{k}", 0, 0) for k in range(6)] == [True] * 5 + [False]
    assert rooms.vote(code, "v0", 1, 0), "who has voted may still change"
    for k in range(9):
        rooms.look(code, f"w{k}")
    assert rooms.look(first).here <= 10
    clock.now += voting.IDLE_SECONDS - 1
    rooms.look(first)  # its teacher's page is open
    clock.now += 2
    assert rooms.leads(first)
    assert not any(rooms.leads(room) for room in others)
    rooms.open()


def test_who_left_is_not_counted_as_here_unless_they_voted(rooms, clock):
    room, code = begun(rooms)
    rooms.look(code, "anna")
    rooms.look(code, "bert")
    assert rooms.look(room).here == 2
    rooms.vote(code, "anna", 0, 0)
    clock.now += voting.HERE_SECONDS + 1
    assert rooms.look(room).here == 1


def test_codes_spell_no_words_and_differ(rooms):
    codes = {rooms.open()[:4] for _ in range(voting.MOST_ROOMS)}
    assert len(codes) == voting.MOST_ROOMS
    assert not set("".join(codes)) & set("aeioul")
