"""The handles of what `torch.distributed` has begun: `Work` and its futures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GeneratorType

from ..calls import poll
from ..engine import Blocking, Engine, MessagePost, PostedCall


class AsyncWork:
    """The handle of an asynchronous call."""

    def __init__(
        self, operation: PostedCall, finish: Callable[[], None] | None = None, tensors: Sequence[object] = ()
    ) -> None:
        """The handle of a call that was posted.

        Args:
            operation: What was posted.
            finish: Writes the result into the caller's buffers when it is complete; None for calls without one.
            tensors: These buffers.
        """
        self.operation = operation
        self._finish = finish
        self._tensors = list(tensors)

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until it is complete; only then does the buffer hold the result.

        Args:
            timeout: Not used: a wait that never ends is reported as one.

        Returns:
            True.
        """
        operation = self.operation
        yield operation  # what `wait_for` does, without a generator more for each message
        if operation.error is not None:
            raise operation.error
        if self._finish is not None:
            self._finish()
            self._finish = None
        return True

    synchronize = wait

    def is_completed(self) -> Blocking:
        """Whether it is complete; asking lets other ranks run.

        Returns:
            Whether it is.
        """
        yield from poll()
        return self.operation.settle()

    is_success = is_completed

    def result(self) -> Blocking:
        """The tensors that a collective filled, once it is complete."""
        yield from self.wait()
        return self._tensors

    def get_future(self) -> WorkFuture:
        """What a collective will have filled."""
        return WorkFuture(self)


class WorkFuture:
    """What a collective will have filled, and what functions make of it."""

    def __init__(self, work: AsyncWork, functions: tuple[Callable[[WorkFuture], object], ...] = ()) -> None:
        """The result of a collective, or of functions of it.

        Args:
            work: The handle of the collective.
            functions: Called when somebody waits, one after another.
        """
        self._work, self._functions = work, functions

    def wait(self) -> Blocking:
        """Wait for it.

        Returns:
            The tensors, or what the last function returned.
        """
        if not self._functions:
            return (yield from self._work.result())
        value = self._functions[-1](WorkFuture(self._work, self._functions[:-1]))
        if isinstance(value, GeneratorType):  # as functions of a program are
            value = yield from value
        return value

    value = wait

    def done(self) -> Blocking:
        """Whether it is complete."""
        return (yield from self._work.is_completed())

    def then(self, callback: Callable[[WorkFuture], object]) -> WorkFuture:
        """A function of it.

        Args:
            callback: Takes this future.
        """
        return WorkFuture(self._work, (*self._functions, callback))


class MessageWork(AsyncWork):
    """The handle of a message, which gloo forgets with it."""

    def source_rank(self) -> int:
        """The sender of what was received."""
        assert isinstance(self.operation, MessagePost)
        return self.operation.source

    def result(self) -> Blocking:
        """Nothing, as with gloo."""
        raise RuntimeError("result() not implemented.")

    def get_future(self) -> WorkFuture:
        """Nothing, as with gloo."""
        raise RuntimeError("Work::getFuture not implemented.")

    def __init__(self, operation: MessagePost, engine: Engine) -> None:
        """The handle of a message that was posted.

        Args:
            operation: What was posted.
            engine: Notes where nobody keeps the handle.
        """
        super().__init__(operation)
        self._engine, self._step = engine, engine.step

    def __del__(self) -> None:
        """Tell the engine, unless its rank has waited."""
        if not self.operation.is_awaited:
            self._engine.note_dropped(self.operation, self._step)
