"""Classes that vote: sessions in the memory of the server, each with one question and a vote for every browser tab.

Nothing is stored on disk and nobody is named: a voter is a random word of its browser tab, gone with the tab. A tab
that is opened anew may vote anew; it is a show of hands, not an exam. A session belongs to the client that opened it,
and sessions, votes and idle time are limited, per client too, so that no client can use up what others need. Nothing
here knows Streamlit.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from collsim.locale import Text
from collsim.teach.quiz.question import Question, format_answer_value

from ..scenario.choice import Choice
from ..server.clients import LOCAL

#: Sessions of all clients on the network, of one of them, and of whoever sits at the computer of the server.
MAX_SESSIONS, MAX_PER_CLIENT, MAX_LOCAL_SESSIONS = 100, 2, 20
#: A large lecture hall. Each voter costs memory for as long as the class lives, and anybody with the code may vote.
MAX_VOTERS = 400
#: A session ends when its teacher's page has not been open for so long.
IDLE_SECONDS = 45 * 60
#: A voter whose page has not looked for so long has left.
PRESENCE_SECONDS = 12
#: Commonest answers that are shown; the others are counted together.
MAX_GROUPS = 6
#: Works of students that a session shows, and characters of what one is sent as.
MAX_WORKS, LONGEST_WORK = 24, 20_000
#: Revealed questions that a session remembers.
MAX_REVEALED = 200
_LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels, so that no word is spelled; no l, which looks like a 1
_KEY_CHARACTERS = "abcdefghijkmnpqrstuvwxyz23456789"
# Students type the code from a projector. The key stands in the teacher's address alone, and must not be guessed.
_CODE_LENGTH, _KEY_LENGTH = 4, 8

#: An answer as people write it, how many gave it, and whether it is right.
AnswerCount = tuple[str, int, bool]
#: The position of a choice or a number in SI units, how many gave it, and whether it is right.
VoteGroup = tuple[float, int, bool]


class TooManySessions(Exception):
    """No further session can be opened.

    Attributes:
        is_own_limit: Whether the client has as many as one client may have; else all clients together have.
    """

    def __init__(self, is_own_limit: bool) -> None:
        """No session can be opened.

        Args:
            is_own_limit: Whether this client has as many as one client may, or the server as many as it holds.
        """
        super().__init__()
        self.is_own_limit = is_own_limit


@dataclass(frozen=True)
class PosedQuestion:
    """A question that a class is asked, of whichever page.

    Attributes:
        source: What asks it: a page, and what of the page it is about; the same question always has the same.
        number: Its number among the questions of its source, from 0; negative for a question that the teacher wrote.
        count: How many questions its source has.
        question: The question.
        choice: The run that it is about, which students can play once the answer is revealed; None where there is none.
        topic: What it is about, where that is no such run.
        round: Grows with every new vote, on the same question too.
    """

    source: str
    number: int
    count: int
    question: Question
    choice: Choice | None = None
    topic: Text = ("",)
    round: int = 0

    def is_same(self, other: PosedQuestion) -> bool:
        """Whether both are the same question about the same thing.

        Args:
            other: The other question.
        """
        return (self.source, self.choice, self.number) == (other.source, other.choice, other.number)


@dataclass(frozen=True)
class RevealedQuestion:
    """A question whose votes were revealed, with the votes for each answer."""

    question: Question
    votes: tuple[AnswerCount, ...]


@dataclass(frozen=True)
class Vote:
    """A vote.

    Attributes:
        value: The position of the choice, or a number in SI units.
        client: The client that the vote came from.
    """

    value: float
    client: str


@dataclass(frozen=True)
class SharedWork:
    """What a student shows to the class, a program or a schedule.

    Attributes:
        number: Its number in the class, from 1.
        page: Name of the page that opens it.
        query: The words of its address on that page.
        client: The client that it came from.
    """

    number: int
    page: str
    query: Mapping[str, str]
    client: str


@dataclass
class ClassSession:
    """One class.

    Attributes:
        code: The letters by which students find it.
        key: What its teacher shows besides, in the address of the page.
        client: The client that opened it.
        last_used: When the teacher's page last looked at it, in seconds of the clock.
        posed: The question that the class is asked; None between questions.
        is_revealed: Whether the answer of `posed` is shown.
        revealed: Earlier questions with their votes, the oldest first.
        votes: The vote of each voter.
        last_seen: When each voter's page last looked.
        works: What each voter shows who shows something.
        works_sent: How many were ever sent.
    """

    code: str
    key: str
    client: str
    last_used: float
    posed: PosedQuestion | None = None
    is_revealed: bool = False
    votes: dict[str, Vote] = field(default_factory=dict)
    last_seen: dict[str, float] = field(default_factory=dict)
    revealed: list[RevealedQuestion] = field(default_factory=list)
    works: dict[str, SharedWork] = field(default_factory=dict)
    works_sent: int = 0


@dataclass(frozen=True)
class VoteBoard:
    """What a page shows of a session at one moment.

    Attributes:
        posed: The question; None before the first.
        is_revealed: Whether the votes and the answer are shown.
        votes: How many have voted.
        present: How many are here.
        groups: The votes for every choice in its order, or for the commonest numbers; empty until the teacher reveals
            them.
        other_votes: Votes for further numbers.
        own_vote: The vote of the voter that looks, or None.
    """

    posed: PosedQuestion | None
    is_revealed: bool
    votes: int
    present: int
    groups: tuple[VoteGroup, ...] = ()
    other_votes: int = 0
    own_vote: float | None = None


class ClassSessions:
    """All classes of a server.

    A teacher's methods take the class key (`code-key`) and the client of the teacher's page, and do nothing for anybody
    else: a key that a class reads off the projector leads nothing from another computer.

    Args:
        votes_per_client: How many votes on a question come from one client on the network. A further one takes the
            place of the client's oldest, so that a page that is loaded again can vote again.
        clock: Returns seconds.
    """

    def __init__(self, votes_per_client: int = MAX_VOTERS, clock: Callable[[], float] = time.monotonic):
        self._votes_per_client = votes_per_client
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, ClassSession] = {}

    def open(self, client: str) -> str:
        """Open a session, and return its class key.

        Whoever sits at the computer of the server can always open one; the one that was used least recently ends where
        there would be more than `MAX_LOCAL_SESSIONS`.

        Args:
            client: Name of the client, as the server knows it.

        Raises:
            TooManySessions: The client, or all clients on the network, have as many as they may.
        """
        with self._lock:
            self._end_idle()
            self._enforce_session_limits(client)
            code = _create_word(_LETTERS, _CODE_LENGTH)
            while code in self._sessions:
                code = _create_word(_LETTERS, _CODE_LENGTH)
            session = ClassSession(code, _create_word(_KEY_CHARACTERS, _KEY_LENGTH), client, self._clock())
            self._sessions[code] = session
            return f"{code}-{session.key}"

    def close(self, class_key: str, client: str) -> None:
        """End a session, for everybody.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is not None:
                del self._sessions[session.code]

    def is_leader(self, class_key: str, client: str) -> bool:
        """Whether this client opened the session that has this key, and it is still open.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            self._end_idle()
            return self._find_led(class_key, client) is not None

    def pose(self, class_key: str, client: str, posed: PosedQuestion) -> None:
        """Put a question to the class. A question that it is asked already keeps its votes.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
            posed: The question as it is put to the class.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is None:
                return
            session.last_used = self._clock()
            if session.posed is None or not session.posed.is_same(posed):
                _start_round(session, posed)

    def clear_votes(self, class_key: str, client: str) -> None:
        """Ask the same question again, without votes.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is not None and session.posed is not None:
                _start_round(session, session.posed)

    def reveal(self, class_key: str, client: str) -> None:
        """Show everybody the votes and the answer. Later votes do not count.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is not None and session.posed is not None and not session.is_revealed:
                session.is_revealed = True
                revealed = RevealedQuestion(session.posed.question, _count_answers(session.posed.question, session))
                session.revealed = [*session.revealed, revealed][-MAX_REVEALED:]

    def get_revealed(self, class_key: str, client: str) -> list[RevealedQuestion]:
        """Return all questions that were revealed to the class, in order; for its teacher.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is None:
                return []
            return list(session.revealed)

    def get_leader_board(self, class_key: str, client: str) -> VoteBoard | None:
        """Return the board for the teacher of a session; None where the client does not lead it. The session is in
        use.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            self._end_idle()
            session = self._find_led(class_key, client)
            if session is None:
                return None
            session.last_used = self._clock()
            return self._build_board(session)

    def get_board(self, code: str, voter: str) -> VoteBoard | None:
        """Return the board for a voter, who is present from now on; None where there is no such session.

        Args:
            code: The code with which students join.
            voter: Name of the voter.
        """
        with self._lock:
            self._end_idle()
            session = self._sessions.get(code)
            if session is None:
                return None
            self._forget_absent(session)
            if voter in session.last_seen or len(session.last_seen) < MAX_VOTERS:
                session.last_seen[voter] = self._clock()
            board = self._build_board(session)
            vote = session.votes.get(voter)
            if vote is None:
                return board
            return replace(board, own_vote=vote.value)

    def vote(self, code: str, client: str, voter: str, value: float, round: int) -> bool:
        """Count a vote in place of an earlier one of the same voter.

        Args:
            code: The letters of the session.
            client: The client that it comes from.
            voter: A word of its browser tab.
            value: The position of a choice, or a number in SI units.
            round: The round of the question that the voter saw.

        Returns:
            Whether it counts. It does not when the round is over, the session full, or there is no such choice.
        """
        with self._lock:
            session = self._sessions.get(code)
            if session is None or session.posed is None or session.is_revealed or session.posed.round != round:
                return False
            choices = len(session.posed.question.choices)
            if choices and value not in range(choices):
                return False
            if voter not in session.votes and not self._has_slot_for_voter(session, client):
                return False
            session.votes[voter] = Vote(value, client)
            return True

    def share_work(self, code: str, client: str, voter: str, page: str, query: Mapping[str, str]) -> bool:
        """Show a work to the class, in place of an earlier one of the same voter.

        Args:
            code: The letters of the session.
            client: The client that it comes from.
            voter: A word of its browser tab.
            page: Name of the page that opens it.
            query: The words of its address; whoever opens it reads them as those of a stranger's link.

        Returns:
            Whether it is shown. It is not where there is no such class, the class or the client has as many as it may,
            or the work is too long.
        """
        with self._lock:
            self._end_idle()
            session = self._sessions.get(code)
            if session is None or sum(len(name) + len(text) for name, text in query.items()) > LONGEST_WORK:
                return False
            others = [work for sender, work in session.works.items() if sender != voter]
            of_client = sum(work.client == client for work in others)
            if len(others) >= MAX_WORKS or (client != LOCAL and of_client >= self._votes_per_client):
                return False
            session.works_sent += 1
            session.works[voter] = SharedWork(session.works_sent, page, dict(query), client)
            return True

    def list_works(self, class_key: str, client: str) -> list[SharedWork]:
        """Return the works that students show, in the order in which they came; for the teacher of the class.

        Args:
            class_key: The secret key of the class's leader.
            client: Name of the client, as the server knows it.
        """
        with self._lock:
            session = self._find_led(class_key, client)
            if session is None:
                return []
            session.last_used = self._clock()
            return sorted(session.works.values(), key=lambda work: work.number)

    def _has_slot_for_voter(self, session: ClassSession, client: str) -> bool:
        """Whether there is a place for another vote; the client's oldest one makes it where it has its share."""
        client_voters = [voter for voter, vote in session.votes.items() if vote.client == client]
        if client != LOCAL and len(client_voters) >= self._votes_per_client:
            # A dict keeps the order in which votes came, so the first one is the oldest.
            del session.votes[client_voters[0]]
        return len(session.votes) < MAX_VOTERS

    def _enforce_session_limits(self, client: str) -> None:
        client_sessions = [session for session in self._sessions.values() if session.client == client]
        if client == LOCAL:
            if len(client_sessions) >= MAX_LOCAL_SESSIONS:
                del self._sessions[min(client_sessions, key=lambda session: session.last_used).code]
            return
        if len(client_sessions) >= MAX_PER_CLIENT:
            raise TooManySessions(is_own_limit=True)
        if sum(session.client != LOCAL for session in self._sessions.values()) >= MAX_SESSIONS:
            raise TooManySessions(is_own_limit=False)

    def _find_led(self, class_key: str, client: str) -> ClassSession | None:
        code, _, key = class_key.partition("-")
        session = self._sessions.get(code)
        if session is None or session.client != client:
            return None
        if secrets.compare_digest(session.key.encode(), key.encode()):
            return session
        return None

    def _build_board(self, session: ClassSession) -> VoteBoard:
        self._forget_absent(session)
        if session.is_revealed:
            groups, other_votes = _group_votes(session)
        else:
            groups, other_votes = ((), 0)
        present = len(set(session.last_seen) | set(session.votes))
        return VoteBoard(session.posed, session.is_revealed, len(session.votes), present, groups, other_votes)

    def _forget_absent(self, session: ClassSession) -> None:
        limit = self._clock() - PRESENCE_SECONDS
        session.last_seen = {voter: moment for voter, moment in session.last_seen.items() if moment > limit}

    def _end_idle(self) -> None:
        limit = self._clock() - IDLE_SECONDS
        self._sessions = {code: session for code, session in self._sessions.items() if session.last_used >= limit}


def _start_round(session: ClassSession, posed: PosedQuestion) -> None:
    number = 0
    if session.posed is not None:
        number = session.posed.round + 1
    session.posed = replace(posed, round=number)
    session.is_revealed, session.votes = False, {}


def _group_votes(session: ClassSession) -> tuple[tuple[VoteGroup, ...], int]:
    """The votes for every choice; for a number those that read the same together, the commonest of them."""
    assert session.posed is not None
    question = session.posed.question
    if question.choices:
        counts = Counter(vote.value for vote in session.votes.values())
        return tuple((k, counts[k], question.right(k)) for k in range(len(question.choices))), 0
    values_by_text: dict[tuple[str, bool], list[float]] = {}
    for vote in session.votes.values():
        key = format_answer_value(vote.value, question.unit), question.right(vote.value)
        values_by_text.setdefault(key, []).append(vote.value)
    groups = sorted(values_by_text.items(), key=lambda item: (-len(item[1]), item[1][0]))
    commonest = tuple((values[0], len(values), is_right) for (_, is_right), values in groups[:MAX_GROUPS])
    return commonest, sum(len(values) for _, values in groups[MAX_GROUPS:])


def _count_answers(question: Question, session: ClassSession) -> tuple[AnswerCount, ...]:
    """Every choice, or every number that was given, with its votes."""
    values = [vote.value for vote in session.votes.values()]
    if question.choices:
        counts = Counter(values)
        return tuple((text, counts[k], question.right(k)) for k, text in enumerate(question.options))
    answers = Counter((format_answer_value(value, question.unit), question.right(value)) for value in values)
    return tuple((text, votes, is_right) for (text, is_right), votes in answers.most_common())


def _create_word(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))
