"""Fixes of a program that hangs: changes of its source that are known to help, each of them run before it is offered.

Where a rank waits is known with its line. A send before a receive becomes one that does not wait, changes places with
it on odd ranks, or becomes one call that does both; a collective that only some ranks call is called by all. A change
is a fix only if the changed program does not hang, on several numbers of ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CollsimError, Sentence

if TYPE_CHECKING:
    from .judge import ProgramRun

Rerun = Callable[[str, int], "ProgramRun"]
_WITHOUT_WAIT = {"send": "isend", "ssend": "isend", "Send": "Isend", "Ssend": "Isend"}
_EXCHANGES = {("send", "recv"): "sendrecv", ("Send", "Recv"): "Sendrecv"}
_RECEIVES = frozenset({"recv", "Recv"})


@dataclass(frozen=True)
class Fix:
    """A changed program that does not hang.

    Attributes:
        label: what was changed.
        source: the whole changed program.
        ranks: the numbers of ranks on which it was run and did not fail.
        run: what came of it on as many ranks as the program that hangs.
    """

    label: Sentence
    source: str
    ranks: tuple[int, ...]
    run: ProgramRun

    @property
    def verdict(self) -> str:
        """`right`, or `ends` where nothing was expected."""
        return self.run.verdict


def find_fixes(source: str, lines: Sequence[int], ranks: int, rerun: Rerun) -> tuple[Fix, ...]:
    """Find changes after which a program does not hang.

    Args:
        source: of the program that hangs.
        lines: where its ranks wait.
        ranks: how many there are.
        rerun: runs a source on a number of ranks.

    Returns:
        The changes that were run and helped, on 2 and 3 ranks too where that can be run, in the order in which they
        are offered.
    """
    fixes = []
    for label, changed in _list_changes(source, lines):
        run = _run(rerun, changed, ranks)
        if run is None or not run.is_right:
            continue
        others = [count for count in (2, 3) if count != ranks]
        passed = [count for count in others if (other := _run(rerun, changed, count)) is not None and other.is_right]
        fixes.append(Fix(label, changed, tuple(sorted([ranks, *passed])), run))
    return tuple(fixes)


def _run(rerun: Rerun, source: str, ranks: int) -> ProgramRun | None:
    try:
        return rerun(source, ranks)
    except CollsimError:  # cannot be run: no fix
        return None


# ---- changes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """A statement that is one call of a library: `dist.send(x, dst)` or `y = comm.recv(source=0)`."""

    statement: ast.stmt
    call: ast.Call
    owner: str  # `dist`, or empty for a bare word
    word: str

    @property
    def rank(self) -> str:
        """How the program writes its rank."""
        if not self.owner:
            return "rank"
        if self.word[0].isupper() or any(keyword.arg in ("dest", "source") for keyword in self.call.keywords):
            return f"{self.owner}.Get_rank()"
        return f"{self.owner}.get_rank()"


def _list_changes(source: str, lines: Sequence[int]) -> Iterator[tuple[Sentence, str]]:
    """Changed sources with what was changed, near the lines in which ranks wait."""
    tree = ast.parse(source)
    for body in _list_blocks(tree):
        calls = [_read_call(statement) for statement in body]
        for position, call in enumerate(calls):
            if call is None or not set(lines) & set(range(call.statement.lineno, _end(call.statement) + 1)):
                continue
            pair = _find_pair(calls, position)
            if pair is not None:
                yield from _change_pair(source, body, *pair)
    yield from _share_collectives(source, tree, lines)


def _list_blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for suite in ("body", "orelse", "finalbody"):
            block = getattr(node, suite, None)
            if isinstance(block, list):
                yield block


def _read_call(statement: ast.stmt) -> _Call | None:
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Expr | ast.Assign) or not isinstance(value, ast.Call):
        return None
    function = value.func
    if isinstance(function, ast.Attribute):
        return _Call(statement, value, ast.unparse(function.value), function.attr)
    if isinstance(function, ast.Name):
        return _Call(statement, value, "", function.id)
    return None


def _find_pair(calls: Sequence[_Call | None], position: int) -> tuple[int, int] | None:
    """Positions of a send and the receive after it, or of a receive and the send after it, of which one waits."""
    call = calls[position]
    assert call is not None
    partners: frozenset[str] = frozenset()
    if call.word in _WITHOUT_WAIT:
        partners = _RECEIVES
    elif call.word in _RECEIVES:
        partners = frozenset(_WITHOUT_WAIT)
    for other in range(position + 1, len(calls)):
        if getattr(calls[other], "word", "") in partners:
            return position, other
    return None


def _change_pair(source: str, body: Sequence[ast.stmt], first: int, second: int) -> Iterator[tuple[Sentence, str]]:
    """A send and a receive, one after the other, changed in several ways."""
    calls = _read_call(body[first]), _read_call(body[second])
    send, receive = sorted(calls, key=lambda call: call is not None and call.word in _RECEIVES)
    assert send is not None
    assert receive is not None
    indent = " " * body[first].col_offset
    texts = [_get_text(source, statement) for statement in body[first : second + 1]]
    send_text, receive_text = _get_text(source, send.statement), _get_text(source, receive.statement)
    between = texts[1:-1]
    exchange = _EXCHANGES.get((send.word, receive.word))
    if exchange is not None and send.rank.endswith("Get_rank()") and not between:
        joined = _join_calls(send, receive, exchange)
        yield (
            Sentence("{call} in place of both", call=exchange),
            replace_statements(source, body, first, second, [joined]),
        )
    if send.owner:
        begin = f"request = {_get_text(source, send.call).replace(send.word, _WITHOUT_WAIT[send.word], 1)}"
        label = Sentence("{send}, then {receive}", send=_WITHOUT_WAIT[send.word], receive=receive.word)
        statements = [begin, *between, receive_text, "request.wait()"]
        yield label, replace_statements(source, body, first, second, statements)
    if not between:
        swapped = [
            f"if {send.rank} % 2:",
            *(f"    {line}" for text in (receive_text, send_text) for line in text.splitlines()),
            "else:",
            *(f"    {line}" for text in (send_text, receive_text) for line in text.splitlines()),
        ]
        label = Sentence("odd ranks receive first")
        yield label, replace_statements(source, body, first, second, [line.removeprefix(indent) for line in swapped])


def _join_calls(send: _Call, receive: _Call, exchange: str) -> str:
    """One call that sends and receives."""
    arguments = [ast.unparse(argument) for argument in send.call.args]
    arguments += [f"{word.arg}={ast.unparse(word.value)}".replace("tag=", "sendtag=") for word in send.call.keywords]
    names = ("recvbuf", "source", "recvtag")
    arguments += [f"{name}={ast.unparse(argument)}" for name, argument in zip(names, receive.call.args, strict=False)]
    arguments += [f"{word.arg}={ast.unparse(word.value)}".replace("tag=", "recvtag=") for word in receive.call.keywords]
    call = f"{send.owner}.{exchange}({', '.join(arguments)})"
    if isinstance(receive.statement, ast.Assign):
        return f"{ast.unparse(receive.statement.targets[0])} = {call}"
    return call


def _share_collectives(source: str, tree: ast.Module, lines: Sequence[int]) -> Iterator[tuple[Sentence, str]]:
    """A call that stands alone under an `if` is made by all ranks."""
    for body in _list_blocks(tree):
        for position, statement in enumerate(body):
            if not isinstance(statement, ast.If) or statement.orelse or len(statement.body) != 1:
                continue
            call = _read_call(statement.body[0])
            if call is None or not set(lines) & set(range(statement.lineno, _end(statement) + 1)):
                continue
            label = Sentence("all ranks call {call} (line {line})", call=call.word, line=statement.lineno)
            text = _get_text(source, statement.body[0])
            yield label, replace_statements(source, body, position, position, [text])


# ---- text ----------------------------------------------------------------------------------------------------------


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _get_text(source: str, node: ast.AST) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)


def replace_statements(source: str, body: Sequence[ast.stmt], first: int, last: int, statements: Sequence[str]) -> str:
    """Replace statements of a block; all other lines stay as they are.

    Args:
        source: the program.
        body: the statements of the block.
        first: the position of the first that is replaced.
        last: of the last one.
        statements: what stands in their place.

    Returns:
        The changed program.
    """
    lines = source.splitlines()
    start, end = body[first].lineno - 1, _end(body[last])
    before = lines[start].encode()[: body[first].col_offset].decode()
    indent = before
    if before.strip():  # after a colon or a semicolon, on the same line
        return "\n".join([*lines[:start], before + "; ".join(statements), *lines[end:]]) + "\n"
    changed = [indent + line for statement in statements for line in statement.splitlines()]
    return "\n".join([*lines[:start], *changed, *lines[end:]]) + "\n"
