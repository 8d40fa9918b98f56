"""Classes that vote: one vote per tab, hidden until the teacher reveals; limited, and led only by who opened them."""

import pytest

import collsim as cs
from collsim.app.classroom import class_sessions
from collsim.app.classroom.class_sessions import ClassSessions, PosedQuestion, TooManySessions
from collsim.app.scenario.choice import Choice
from collsim.app.server.clients import LOCAL
from collsim.teach import questions

TRACE = cs.simulate(
    cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4, bandwidth="25GB/s", alpha="1us"), "64MiB"
)
QUESTIONS = questions(TRACE, 1, 8)
STEPS = next(k for k, q in enumerate(QUESTIONS) if q.topic == "steps")
TIME = next(k for k, q in enumerate(QUESTIONS) if q.topic == "time")
PHONE, LAPTOP = "192.168.1.7", "192.168.1.8"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(clock):
    return ClassSessions(votes_per_client=3, clock=clock)


def pose(number, choice=Choice()):  # noqa: B008
    return PosedQuestion("explore-1", number, len(QUESTIONS), QUESTIONS[number], choice)


def start(sessions, number=STEPS, client=LOCAL):
    class_key = sessions.open(client)
    sessions.pose(class_key, client, pose(number))
    return class_key, class_key[:4]


def look(sessions, class_key, client=LOCAL):
    return sessions.get_leader_board(class_key, client)


def test_votes_are_counted_once_per_voter_and_shown_only_after_the_reveal(sessions):
    key, code = start(sessions)
    right = int(QUESTIONS[STEPS].answer)
    wrong = (right + 1) % len(QUESTIONS[STEPS].choices)
    assert sessions.vote(code, PHONE, "anna", wrong, 0)
    assert sessions.vote(code, PHONE, "anna", right, 0), "one may change one's mind"
    assert sessions.vote(code, LAPTOP, "bert", wrong, 0)
    board = sessions.get_board(code, "anna")
    assert (board.votes, board.groups, board.own_vote) == (2, (), right)
    sessions.reveal(key, LOCAL)
    board = sessions.get_board(code, "carl")
    assert [votes for _, votes, _ in board.groups] == [
        {right: 1, wrong: 1}.get(k, 0) for k in range(len(QUESTIONS[STEPS].choices))
    ]
    assert [k for k, (_, _, is_right) in enumerate(board.groups) if is_right] == [right]
    assert board.own_vote is None
    assert not sessions.vote(code, PHONE, "carl", right, 0), "the vote is over"


def test_numbers_that_read_the_same_are_one_group_and_the_commonest_come_first(sessions, monkeypatch):
    key, code = start(sessions, TIME)
    answer = QUESTIONS[TIME].answer
    for k, value in enumerate([answer, answer * 1.0001, 1.0, 1.0, 1.0, 2.0]):
        assert sessions.vote(code, LOCAL, f"v{k}", value, 0)
    sessions.reveal(key, LOCAL)
    groups = look(sessions, key).groups
    assert [(votes, right) for _, votes, right in groups] == [(3, False), (2, True), (1, False)]
    monkeypatch.setattr(class_sessions, "MAX_GROUPS", 2)
    board = look(sessions, key)
    assert (len(board.groups), board.other_votes) == (2, 1)


def test_the_next_question_begins_without_votes_and_a_late_vote_for_the_last_one_does_not_count(sessions):
    key, code = start(sessions)
    assert sessions.vote(code, PHONE, "anna", 0, 0)
    sessions.pose(key, LOCAL, pose(STEPS))
    assert look(sessions, key).votes == 1, "the teacher's page draws itself again and nothing is lost"
    sessions.pose(key, LOCAL, pose(TIME))
    assert look(sessions, key).votes == 0
    assert not sessions.vote(code, LAPTOP, "bert", 0, 0)
    assert sessions.vote(code, LAPTOP, "bert", 0.1, 1)
    sessions.clear_votes(key, LOCAL)
    assert look(sessions, key).votes == 0
    sessions.pose(key, LOCAL, pose(TIME, Choice(nbytes="1KiB")))
    assert look(sessions, key).posed.choice.nbytes == "1KiB"


@pytest.mark.parametrize("opener", [LOCAL, LAPTOP])
def test_only_the_client_that_opened_a_class_leads_it_and_only_with_its_key(sessions, opener):
    key, code = start(sessions, client=opener)
    assert sessions.vote(code, PHONE, "anna", 0, 0)
    strangers = [(wrong, opener) for wrong in (code, f"{code}-00000000", f"{code}-", f"{code}-é")]
    strangers += [(key, client) for client in {PHONE, LAPTOP, LOCAL} - {opener}]  # the key is on the projector
    for stranger in strangers:
        sessions.reveal(*stranger)
        sessions.close(*stranger)
        sessions.pose(*stranger, pose(TIME))
        sessions.clear_votes(*stranger)
        assert not sessions.is_leader(*stranger)
        assert sessions.get_leader_board(*stranger) is None
        assert sessions.get_revealed(*stranger) == []
    board = look(sessions, key, opener)
    assert (board.posed.number, board.is_revealed, board.votes) == (STEPS, False, 1)
    assert sessions.get_board(key, "anna") is None, "students find a class by its code alone"
    sessions.close(key, opener)
    assert sessions.get_board(code, "anna") is None
    assert not sessions.is_leader(key, opener)


@pytest.mark.parametrize("value", [-1.0, 4.0, 0.5, float("nan")])
def test_a_vote_for_no_choice_is_refused(sessions, value):
    _, code = start(sessions)
    assert not sessions.vote(code, PHONE, "anna", value, 0)


def test_a_client_opens_two_classes_and_whoever_sits_at_the_computer_can_always_open_one(sessions, monkeypatch):
    monkeypatch.setattr(class_sessions, "MAX_SESSIONS", 5)
    monkeypatch.setattr(class_sessions, "MAX_LOCAL_SESSIONS", 3)
    first, second = sessions.open(PHONE), sessions.open(PHONE)
    for _ in range(100):
        with pytest.raises(TooManySessions) as refused:
            sessions.open(PHONE)
        assert refused.value.is_own_limit
    sessions.close(first, PHONE)
    sessions.open(PHONE)
    for client in ("a", "b", "c"):
        sessions.open(client)
    with pytest.raises(TooManySessions) as refused:
        sessions.open(LAPTOP)
    assert not refused.value.is_own_limit
    local = [sessions.open(LOCAL) for _ in range(50)]
    assert [sessions.is_leader(key, LOCAL) for key in local] == [False] * 47 + [True] * 3, "the oldest end"
    assert sessions.is_leader(second, PHONE), "nobody else's class ends for it"


def test_a_class_whose_teachers_page_is_closed_ends_and_frees_its_slot(sessions, clock):
    key, code = start(sessions, client=PHONE)
    other = sessions.open(PHONE)
    clock.now += class_sessions.IDLE_SECONDS - 1
    look(sessions, key, PHONE)  # its teacher's page is open
    clock.now += 2
    assert sessions.get_board(code, "anna") is not None
    assert sessions.is_leader(key, PHONE)
    assert not sessions.is_leader(other, PHONE)
    sessions.open(PHONE)
    clock.now += class_sessions.IDLE_SECONDS
    for _ in range(3):
        sessions.get_board(code, "anna")  # what students look at does not keep it
    clock.now += 1
    assert sessions.get_board(code, "anna") is None


def test_one_client_cannot_outvote_or_shut_out_the_others(sessions, monkeypatch):
    monkeypatch.setattr(class_sessions, "MAX_VOTERS", 5)
    key, code = start(sessions)
    right, wrong = 0, 1
    assert sessions.vote(code, LAPTOP, "bert", right, 0)
    for tab in range(100):
        assert sessions.vote(code, PHONE, f"tab {tab}", wrong, 0), "a page that is loaded again can vote again"
    board = look(sessions, key)
    assert board.votes == 4, "three of one client, and the other's"
    assert sessions.get_board(code, "bert").own_vote == right
    assert sessions.get_board(code, "tab 99").own_vote == wrong
    assert sessions.get_board(code, "tab 0").own_vote is None
    assert sessions.vote(code, "a", "carl", right, 0)
    assert not sessions.vote(code, "b", "dora", right, 0), "the session is full"
    assert sessions.vote(code, LAPTOP, "bert", wrong, 0), "who has voted may still change"


def test_who_looks_is_counted_up_to_a_limit(sessions, monkeypatch):
    monkeypatch.setattr(class_sessions, "MAX_VOTERS", 5)
    key, code = start(sessions)
    for k in range(9):
        sessions.get_board(code, f"w{k}")
    assert look(sessions, key).present == 5


def test_who_left_is_not_counted_as_present_unless_they_voted(sessions, clock):
    key, code = start(sessions)
    sessions.get_board(code, "anna")
    sessions.get_board(code, "bert")
    assert look(sessions, key).present == 2
    sessions.vote(code, PHONE, "anna", 0, 0)
    clock.now += class_sessions.PRESENCE_SECONDS + 1
    assert look(sessions, key).present == 1


def test_codes_spell_no_words_and_differ(sessions):
    codes = {sessions.open(str(k))[:4] for k in range(class_sessions.MAX_SESSIONS)}
    assert len(codes) == class_sessions.MAX_SESSIONS
    assert not set("".join(codes)) & set("aeioul")


def test_programs_of_students_are_listed_for_the_teacher_alone(sessions):
    key = sessions.open(LOCAL)
    assert sessions.share_work(key[:4], PHONE, "anna", "program", {"start": "ring"})
    assert sessions.share_work(key[:4], LAPTOP, "bert", "write", {"start": "send"})
    assert sessions.share_work(key[:4], PHONE, "anna", "program", {"start": "farm"}), (
        "a second one takes the place of the first"
    )
    shown = [(program.number, dict(program.query)) for program in sessions.list_works(key, LOCAL)]
    assert shown == [(2, {"start": "send"}), (3, {"start": "farm"})]
    assert sessions.list_works(key, PHONE) == sessions.list_works(f"{key[:4]}-nothing1", LOCAL) == []
    assert not sessions.share_work("none", PHONE, "anna", "write", {})


def test_a_class_takes_few_programs_of_a_client_and_no_long_ones(sessions, monkeypatch):
    key = sessions.open(LOCAL)
    code = key[:4]
    assert not sessions.share_work(code, PHONE, "anna", "write", {"code": "x" * class_sessions.LONGEST_WORK})
    assert [sessions.share_work(code, PHONE, f"v{k}", "write", {}) for k in range(4)] == [True, True, True, False]
    monkeypatch.setattr(class_sessions, "MAX_WORKS", 4)
    assert [sessions.share_work(code, LAPTOP, f"w{k}", "write", {}) for k in range(2)] == [True, False]
    assert sessions.share_work(code, PHONE, "v0", "write", {"start": "send"}), "one's own program may be replaced"
