"""A teacher's own question, and the votes of a class as a table."""

import pytest

from collsim.app.classroom.class_sessions import ClassSessions, PosedQuestion
from collsim.app.classroom.custom_question import MAX_CHOICES, parse_question
from collsim.app.scenario.choice import Choice
from collsim.app.server.clients import LOCAL
from collsim.errors import CollsimError

LINES = "12 ms\n* 20 ms\n\n40 ms"


def test_a_question_is_a_text_and_choices_the_right_one_with_a_star():
    made = parse_question("  How long?  ", LINES)
    assert (made.text, made.options, made.answer) == ("How long?", ["12 ms", "20 ms", "40 ms"], 1)
    assert made.check("B").right
    assert not made.check("A").right


@pytest.mark.parametrize(
    ("text", "lines", "why"),
    [
        ("", LINES, "1 to 300 characters"),
        ("x" * 301, LINES, "not 301"),
        ("How long?", "* 12 ms", "2 to 6 choices, not 1"),
        ("How long?", "*" + "\n".join(map(str, range(MAX_CHOICES + 1))), "not 7"),
        ("How long?", "12 ms\n20 ms", "0 have it"),
        ("How long?", "*12 ms\n*20 ms", "2 have it"),
        ("How long?", "*12 ms\n12 ms", "the same"),
        ("How long?", "*\n12 ms", "1 to 120 characters, not 0"),
    ],
)
def test_what_is_no_question_is_told(text, lines, why):
    with pytest.raises(CollsimError, match=why):
        parse_question(text, lines)


def test_revealed_votes_are_kept_question_by_question():
    sessions = ClassSessions()
    key = sessions.open(LOCAL)
    first, second = parse_question("How long?", LINES), parse_question("Why?", "*a\nb")
    for number, (question, votes) in enumerate([(first, (1, 1, 0)), (second, (0,))]):
        sessions.pose(key, LOCAL, PosedQuestion("explore-0", -1 - number, 1, question, Choice()))
        round = sessions.get_leader_board(key, LOCAL).posed.round
        for voter, vote in enumerate(votes):
            assert sessions.vote(key[:4], LOCAL, str(voter), vote, round)
        assert len(sessions.get_revealed(key, LOCAL)) == number, "nothing of a question before it is revealed"
        sessions.reveal(key, LOCAL)
        sessions.reveal(key, LOCAL)  # a second press adds nothing
    revealed = sessions.get_revealed(key, LOCAL)
    assert [one.question.text for one in revealed] == ["How long?", "Why?"]
    assert revealed[0].votes == (("12 ms", 1, False), ("20 ms", 2, True), ("40 ms", 0, False))
