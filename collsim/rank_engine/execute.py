"""One execution of a program by all ranks in one mode: what each returned, which messages met, who waits for whom."""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import CollsimError, Sentence
from ..package_data import read_toml
from .calls import Calls, Coroutine, mark_coroutine
from .engine import (
    MAIN,
    ConnectionClosed,
    Engine,
    Kept,
    Limit,
    Message,
    Rank,
    RankEvent,
    RunMode,
    SharedUse,
    SilentFault,
    StackFrame,
    Stop,
    Task,
)
from .expected import ProgramCollective, count_output
from .mpi_dialect import SUBSTITUTES, build_mpi_modules
from .process_dialect import build_process_modules
from .rewrite import (
    AWAIT,
    CALL,
    CALL_NOW,
    COROUTINE,
    COUNT,
    ENTER,
    EXIT,
    GENERATOR,
    IMPORT_ALL,
    MODULE_FUNCTION,
    RewrittenProgram,
)
from .stand_ins.internal_names import require_plain_name
from .stand_ins.tensors import Tensor
from .torch_dialect import build_torch_modules

_NUMPY = ("numpy", "numpy.random", "numpy.linalg", "numpy.fft", "numpy.testing", "numpy.typing")
#: Characters of what a program prints that are shown.
_PRINTED = 2_000
#: A parameter of the entry that nothing fills: the one error of a rank that is a sentence in both languages.
MISSING_ARGUMENT = "{entry}() wants {name}, which no rank has; give it with arguments={{'{name}': ...}}"
#: Parameters that are the number of ranks.
SIZE_NAMES = ("size", "world_size", "n", "nprocs", "num_ranks", "num_nodes", "num_workers", "num_procs")


@dataclass(frozen=True)
class RankWait:
    """Where a rank waits that cannot go on.

    Attributes:
        rank: the rank.
        call: what it called.
        line: the line of the call.
        peers: who has to do something first.
        is_any: one of `peers` is enough.
        frames: the functions it is in, outermost first.
        ended: those of `peers` that have ended and will do nothing.
        is_collective: whether all members of a communicator have to make the same call.
        needs: the use of a shared object that it waits for.
    """

    rank: int
    call: str
    line: int
    peers: tuple[int, ...]
    is_any: bool
    frames: tuple[StackFrame, ...]
    ended: tuple[int, ...]
    is_collective: bool = False
    needs: SharedUse | None = None


@dataclass(frozen=True)
class RankError:
    """What ended a rank: an exception, or a limit.

    Attributes:
        rank: the rank.
        kind: the type of the exception.
        text: what the exception says.
        line: where it was raised, or where the rank was stopped.
        limit: what the run reached, so that it was stopped; None for an exception.
        missing_argument: the entry and its parameter that nothing fills, where that is the exception.
    """

    rank: int
    kind: str
    text: str
    line: int
    limit: Limit | None = None
    missing_argument: tuple[str, str] | None = None


@dataclass(frozen=True)
class Piece:
    """Neighbouring elements that hold the same content.

    Attributes:
        first: the first element.
        count: how many.
        content: the sum of the weights of the ranks in it (`make_contents`).
    """

    first: int
    count: int
    content: int


@dataclass(frozen=True)
class Provenance:
    """What the messages of a program hold.

    Attributes:
        elements: of each rank's input in the runs that found it out.
        messages: the pieces of each message, in the order of the sends.
        results: the pieces of each rank's result; empty where it left none.
        reason: why it is not known, or None.
    """

    elements: int = 0
    messages: tuple[tuple[Piece, ...], ...] = ()
    results: tuple[tuple[Piece, ...], ...] = ()
    reason: Sentence | None = None


@dataclass(frozen=True)
class Execution:
    """What one execution left.

    Attributes:
        mode: how open choices were made.
        results: what each rank returned, left in its output buffer, or last called `result`.
        messages: all messages, in the order of their sends.
        waits: ranks that cannot go on; empty unless the program hangs.
        errors: exceptions, by rank.
        printed: what each rank printed.
        options: how many sources there were at each receive from any source that had more than one.
        events: what all ranks did, in order.
        groups: the ranks of each communicator that had a collective.
        payloads: what each message held, where that was to be kept.
        provenance: which numbers each message holds, where that was looked for.
        uses: of queues, locks and other shared objects, with the threads that made them.
        unawaited: words and lines of calls that returned at once and that nobody waited for.
        faults: what the library does not notice, so that a message is lost or numbers are wrong.
        depends_on_reads: whether it may end otherwise where bytes are read as late as they may be.
    """

    mode: RunMode
    results: tuple[object, ...]
    messages: tuple[Message, ...]
    waits: tuple[RankWait, ...]
    errors: tuple[RankError, ...]
    printed: tuple[str, ...] = ()
    options: tuple[int, ...] = ()
    events: tuple[RankEvent, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    payloads: tuple[object, ...] = ()
    provenance: Provenance | None = None
    uses: Mapping[SharedUse, frozenset[int]] = field(default_factory=dict)
    unawaited: tuple[tuple[str, int], ...] = ()
    faults: tuple[SilentFault, ...] = ()
    depends_on_reads: bool = True

    @property
    def hangs(self) -> bool:
        """Whether some rank cannot go on."""
        return bool(self.waits)


@dataclass(frozen=True)
class StartPlan:
    """How a program is started.

    Attributes:
        program: the rewritten program.
        entry: the function that every rank calls; empty: the whole file is run by every rank.
        ranks: how many ranks there are.
        is_single: whether one process runs it, which makes its own threads or keeps all ranks' data in arrays.
        make_input: makes what a rank starts with, when somebody asks for it; not to be changed.
        elements: how many numbers that are.
        dtype: their type.
        arguments: more arguments of `entry`, by name.
        collective: what it should do, or None; it says how long the array is that a rank fills.
    """

    program: RewrittenProgram
    entry: str
    ranks: int
    is_single: bool
    make_input: Callable[[int], np.ndarray]
    elements: int
    dtype: np.dtype[Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    collective: ProgramCollective | None = None

    @property
    def takes_array(self) -> bool:
        """Whether the entry gets what its rank starts with; else the program's numbers are its own."""
        parameters = set(self.program.functions.get(self.entry, ()))
        if {"send", "recv"} <= parameters:
            return "rank" not in parameters  # with a rank these are the words of textbooks
        return bool(parameters - {"rank", "comm", *SIZE_NAMES, *self.arguments})


def execute(plan: StartPlan, mode: RunMode, keeps: Kept = "events") -> Execution:
    """Run a program once.

    Args:
        plan: the program and how it is started.
        mode: how open choices are made; bytes are read when they are sent where payloads are kept.
        keeps: what to keep besides results and messages: what the ranks did, which takes a third of the time, or what
            each message held.

    Returns:
        What came of it.
    """
    engine = Engine(plan.ranks, mode, plan.program.codes, keeps)
    numbers = range(plan.ranks)
    if plan.is_single:
        numbers = range(MAIN, MAIN + 1)
    np.random.seed(0)  # noqa: NPY002 (the generator that programs use, so that all executions draw the same)
    scripts = [_Process(plan, engine, number) for number in numbers]
    for script in scripts:
        engine.start(script.run(), script.rank)
    engine.run()
    execution = _collect(engine, scripts)
    if keeps == "payloads":
        sends = [send for send in engine.sends if not send.is_internal]
        execution = replace(execution, payloads=tuple(send.get_payload() for send in sends))
    else:
        execution = replace(execution, events=tuple(engine.list_events()))
    engine.release()
    for script in scripts:
        script.output = None
    return execution


class _Process:
    """One process of a program: its modules, its global variables and its start."""

    def __init__(self, plan: StartPlan, engine: Engine, rank: int) -> None:
        self.plan, self.engine, self.rank = plan, engine, rank
        self.calls = Calls(engine)
        self.printed: list[str] = []
        self.output: np.ndarray | None = None
        self.has_launched = False  # the program started its ranks itself
        self._processes = 0  # that it made
        # A launcher called by the program starts ranks here; only a program for one machine has any.
        launchers = {
            "Process": self._make_process,
            "spawn": self._spawn,
            "start_processes": self._spawn,
            "set_start_method": lambda method, force=False: None,
            "get_context": lambda method=None: self.modules["torch.multiprocessing"],
            "cpu_count": lambda: plan.ranks,
        }
        process_launchers = None  # its processes are threads here
        if plan.program.library:
            process_launchers = launchers
        self.modules: dict[str, ModuleType] = {
            **build_process_modules(engine, self.start_task, max(rank, 0), self._write, process_launchers),
            **build_torch_modules(engine, max(rank, 0), launchers),
            **build_mpi_modules(engine, max(rank, 0)),
        }
        self.globals: dict[str, Any] = {
            "__builtins__": self._build_builtins(),
            "__name__": "program" if plan.entry else "__main__",
            CALL: self.calls.call,
            CALL_NOW: self.calls.call_now,
            ENTER: self.calls.enter,
            EXIT: self.calls.exit,
            GENERATOR: self.calls.mark_generator,
            AWAIT: self.calls.await_value,
            COROUTINE: mark_coroutine,
            COUNT: engine.make_step_counter(),
            IMPORT_ALL: self._import_all,
        }

    def start_task(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Rank:
        """Make a rank of a function: a thread or a task of the program."""
        return self.engine.start(self._drive(function, args, kwargs))

    def _drive(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Task:
        try:
            result = yield from self.calls.call(function, *args, **kwargs)
        except SystemExit:
            if self.engine.current is not None and self.engine.current.number == self.rank:
                raise
            return None  # it ends a thread
        if isinstance(result, Coroutine):
            result = yield from result.task
        return result

    def run(self) -> Task:
        """Run the module, then its entry."""
        exec(self.plan.program.code, self.globals)
        result = None
        try:
            yield from self.globals[MODULE_FUNCTION]()
            if self.plan.entry and not self.has_launched:
                function = self.globals[self.plan.entry]
                args = self._build_arguments(function)
                result = yield from self._drive(function, (), args)
                if isinstance(result, types.GeneratorType):
                    raise TypeError(f"{self.plan.entry}() is a generator, whose items nobody takes; let it return them")
        except SystemExit as end:
            # `sys.exit()` ends a rank as it ends a script; any other code is an error of that rank.
            if end.code not in (None, 0):
                raise RuntimeError(f"the program ends with sys.exit({end.code!r})") from end
        if result is None and (not self.plan.entry or self.has_launched):
            result = self.globals.get("result")
        if result is None:
            return self.output
        return result

    # ---- arguments

    def _build_arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that the names of an entry's parameters ask for."""
        accepted = inspect.signature(function).parameters
        known = self._list_known(accepted)
        arguments = {}
        for name, parameter in accepted.items():
            if name in known:
                arguments[name] = known[name]()
            elif parameter.default is inspect.Parameter.empty and parameter.kind in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.KEYWORD_ONLY,
            ):
                # A parameter without a default that nothing here can fill is asked for by its name.
                raise CollsimError(MISSING_ARGUMENT, entry=self.plan.entry, name=name)
        return arguments

    def _list_known(self, accepted: Mapping[str, inspect.Parameter]) -> dict[str, Callable[[], Any]]:
        plan = self.plan
        known: dict[str, Callable[[], Any]] = {
            name: functools.partial(copy.deepcopy, value) for name, value in plan.arguments.items()
        }
        known.setdefault("rank", lambda: self.rank)
        for name in SIZE_NAMES:
            known.setdefault(name, lambda: plan.ranks)
        known.setdefault("comm", lambda: self.modules["mpi4py.MPI"].COMM_WORLD)
        if {"send", "recv"} <= set(accepted):
            if "rank" in accepted:  # the bare words of textbooks: send(dst, x), recv(src)
                known.setdefault("send", lambda: self._send_object)
                known.setdefault("recv", lambda: self._receive_object)
            else:
                known.setdefault("send", self._make_input)
                known.setdefault("recv", self._make_output)
            return known
        unknown = [
            name
            for name, parameter in accepted.items()
            if name not in known and parameter.default is inspect.Parameter.empty
        ]
        # A single unknown parameter is the rank's array: functions of articles call it anything.
        if len(unknown) == 1 and (plan.collective or len(accepted) == 1):  # the array
            known[unknown[0]] = self._make_in_place
            if plan.is_single:
                known[unknown[0]] = lambda: np.array([plan.make_input(rank) for rank in range(plan.ranks)])
        return known

    def _make_input(self) -> np.ndarray:
        """This rank's data."""
        return self._make_array(self.plan.make_input(self.rank))

    def _make_array(self, numbers: np.ndarray) -> np.ndarray:
        """A copy, as a tensor where torch is imported."""
        array = numbers.copy()
        if self.plan.program.uses_torch:
            return array.view(Tensor)
        return array

    def _make_output(self) -> np.ndarray:
        elements = count_output(self.plan.collective, self.plan.elements, self.plan.ranks)
        self.output = self._make_array(np.zeros(elements, self.plan.dtype))
        return self.output

    def _make_in_place(self) -> np.ndarray:
        self.output = self._make_input()
        return self.output

    def _send_object(self, dst: int, value: object) -> Any:
        comm = self.modules["mpi4py.MPI"].COMM_WORLD
        return (yield from comm.send(value, dst))

    def _receive_object(self, src: int) -> Any:
        comm = self.modules["mpi4py.MPI"].COMM_WORLD
        return (yield from comm.recv(source=src))

    # ---- modules and builtins

    def _spawn(
        self,
        fn: Callable[..., object],
        args: Sequence[object] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> Task:
        """`mp.spawn(f, args, nprocs)`: the ranks run already, and each of them becomes one of the processes."""
        if nprocs > self.plan.ranks:
            raise ValueError(f"spawn: nprocs={nprocs}, but {self.plan.ranks} ranks run; run it with ranks={nprocs}")
        self.has_launched = True
        if self.rank < nprocs:
            yield from self._launch(fn, (self.rank, *args), {})
        return None if join else LaunchedProcess(None)

    def _make_process(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        daemon: bool | None = None,
    ) -> LaunchedProcess:
        """`Process(target=f)`: each rank becomes the process of its number, in the order in which they are made."""
        self._processes += 1
        if self._processes - 1 != self.rank or target is None:
            return LaunchedProcess(None)
        return LaunchedProcess(lambda: self._launch(target, tuple(args), kwargs or {}))

    def _launch(self, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Task:
        self.has_launched = True
        result = yield from self.calls.call(function, *args, **kwargs)
        if result is not None:
            self.globals["result"] = result
        return result

    def _import(
        self, name: str, globals_: object = None, locals_: object = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        # C code of numpy gives a list, as when it first prints an array; it does not use what is returned.
        if isinstance(fromlist, list) and name.startswith("numpy."):
            importlib.import_module(name)
            return None
        module = self.modules.get(name)
        # numpy itself is imported (the sandbox allows that); all other modules are stand-ins.
        if module is None and name in _NUMPY:
            module = importlib.import_module(name)
        if module is None and (substitute := _find_substitute(name)):
            raise ImportError(f"{name} is not simulated; {substitute}")
        if module is None:
            known = ", ".join(sorted({*self.modules, "numpy"}))
            raise ImportError(f"{name} is not known here; known are {known}")
        if fromlist:
            # Words that the stand-in lacks are named at the import, with their line, and not at first use.
            missing = [word for word in fromlist if word != "*" and not hasattr(module, word)]
            if missing and f"{name}.{missing[0]}" not in self.modules:
                substitute = _find_substitute(f"{name}.{missing[0]}") or "use another word of this module"
                raise ImportError(f"{name}.{missing[0]} is not simulated; {substitute}")
            return module
        if name in _NUMPY:
            return importlib.import_module("numpy")
        return self.modules.get(name.partition(".")[0], module)

    def _import_all(self, name: str) -> None:
        module = self._import(name, fromlist=("*",))
        self.globals.update({word: value for word, value in vars(module).items() if not word.startswith("_")})

    def _build_builtins(self) -> dict[str, Any]:
        names = {name: value for name, value in vars(builtins).items() if name not in _REFUSED}
        names["__import__"] = self._import
        names["getattr"] = _get_attribute
        names["print"] = self._print
        names["exit"] = names["quit"] = self.modules["sys"].exit
        return names

    def _print(
        self,
        *values: object,
        sep: str | None = " ",
        end: str | None = "\n",
        file: object = None,
        flush: bool = False,
    ) -> None:
        streams = self.modules["sys"]
        if file not in (None, streams.stdout, streams.stderr):
            raise RuntimeError("print: file= is not simulated; use sys.stdout, or join the texts")
        if sep is None:
            sep = " "
        if end is None:
            end = "\n"
        self._write(sep.join(map(str, values)) + end)

    def _write(self, text: str) -> None:
        if sum(map(len, self.printed)) < _PRINTED:
            self.printed.append(str(text))


def _get_attribute(value: object, name: str, *default: object) -> object:
    """`getattr`, for names that lead no further than the program's own objects."""
    require_plain_name(name)
    return getattr(value, name, *default)


class LaunchedProcess:
    """A process that a program starts: this rank, or another one, which starts itself.

    Args:
        run: runs it; None for that of another rank.
    """

    def __init__(self, run: Callable[[], Task] | None) -> None:
        self._run = run
        self.exitcode, self.pid, self.daemon = 0, 0, False

    def start(self) -> Task:
        """Run it to its end, as its rank has nothing else to do."""
        if self._run is not None:
            yield from self._run()
        return None

    def join(self, timeout: object = None) -> None:
        """It has ended.

        Args:
            timeout: Not used.
        """

    terminate = close = join


#: What to use in place of modules that are not simulated, by the beginning of their names.
_SUBSTITUTES: dict[str, str] = read_toml(__file__, "execute.toml")["substitutes"]


def _find_substitute(name: str) -> str:
    """What to use in place of a module; empty where nothing is known."""
    return next((text for start, text in _SUBSTITUTES.items() if f"{name}.".startswith(f"{start}.")), "")


#: Builtins that reach out of a program, or that rewriting does not see through.
_REFUSED = frozenset({"open", "input", "exec", "eval", "compile", "breakpoint", "help", "globals", "vars"})


def _collect(engine: Engine, scripts: list[_Process]) -> Execution:
    failed = [rank for rank in engine.ranks if rank.error is not None]
    # A broken connection is what another rank's end led to: the cause is listed first.
    failed.sort(key=lambda rank: isinstance(rank.error, ConnectionClosed))
    errors = tuple(
        RankError(
            rank.number,
            type(rank.error).__name__,
            _describe_error(rank.error),
            rank.error_line,
            missing_argument=_find_missing_argument(rank.error),
        )
        for rank in failed
    )
    waits = tuple(_list_waits(engine))
    if (stopped := engine.stopped) is not None:  # the others were stopped as well, wherever they were
        errors, waits = (RankError(stopped.rank, "", "", stopped.line, stopped.limit),), ()
    return Execution(
        engine.mode,
        tuple(rank.result for rank in engine.ranks[: len(scripts)]),
        tuple(engine.list_messages()),
        waits,
        errors,
        tuple("".join(script.printed)[:_PRINTED] for script in scripts),
        tuple(engine.options),
        groups=tuple(engine.groups.values()),
        uses={use: frozenset(threads) for use, threads in engine.uses.items()},
        unawaited=tuple(engine.list_unawaited()),
        faults=tuple(engine.faults),
        depends_on_reads=engine.depends_on_reads(),
    )


def _describe_error(error: BaseException | None) -> str:
    """The text of an error; where a word of mpi4py is missing that is not simulated, also what to use instead."""
    try:
        text = str(error)
    except (Exception, Stop):  # an exception of the program may have a `__str__` that fails, or never ends
        return ""
    name = getattr(error, "name", None)
    if isinstance(error, AttributeError) and name in SUBSTITUTES and SUBSTITUTES[name] not in text:
        return f"{text}: {SUBSTITUTES[name]}"
    return text


def _find_missing_argument(error: BaseException | None) -> tuple[str, str] | None:
    if isinstance(error, CollsimError) and error.key == MISSING_ARGUMENT:
        return str(error.values["entry"]), str(error.values["name"])
    return None


def _list_waits(engine: Engine) -> Iterator[RankWait]:
    """Where ranks wait that cannot go on."""
    ended = {rank.number for rank in engine.ranks if rank.has_ended}
    only_daemons = all(rank.has_ended for rank in engine.ranks if not rank.is_daemon)
    for rank in engine.ranks:
        operation = rank.wait
        if operation is None or only_daemons:  # daemons end with the program
            continue
        frames = tuple(rank.list_frames(engine.codes))
        line = operation.line
        if frames:
            line = frames[-1].line
        peers = operation.peers
        # A lock is waited for from its holders, who are known only now.
        if operation.needs is not None and operation.needs.action == "release":
            peers = tuple(sorted(set(engine.holders[operation.needs.number])))
        yield RankWait(
            rank.number,
            operation.call,
            line,
            peers,
            operation.is_any,
            frames,
            tuple(peer for peer in peers if peer in ended),
            operation.is_collective,
            operation.needs,
        )


def find_users(first: Execution, ahead: Execution | None = None) -> Execution:
    """Say for whom threads wait that wait for a queue, a lock or an event: those who use it in what is needed.

    Args:
        first: an execution that hangs.
        ahead: one that shows who would use them later (`RunMode.looks_ahead`).

    Returns:
        The execution with the peers of such waits; a process that only waits for its threads is left out.
    """
    waiting = {wait.rank for wait in first.waits}
    waits = [_name_users(wait, first, ahead, waiting) for wait in first.waits]
    others = [wait for wait in waits if wait.rank != MAIN]
    if others and not any(MAIN in wait.peers for wait in others):
        waits = others
    return replace(first, waits=tuple(waits))


def _name_users(wait: RankWait, first: Execution, ahead: Execution | None, waiting: set[int]) -> RankWait:
    if wait.needs is None or wait.peers:
        return wait
    users: set[int] = set()
    for execution in (first, ahead):
        if execution is not None:
            users |= execution.uses.get(wait.needs, frozenset())
    users.discard(wait.rank)
    ended = users - waiting
    if not ended < users:  # nobody is left who would
        return replace(wait, peers=tuple(sorted(users)), ended=tuple(sorted(ended)))
    return replace(wait, peers=tuple(sorted(users - ended)))
