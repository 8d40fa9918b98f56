"""What a cluster shows of a hang: stacks in the form of Python's faulthandler, and the logs after a timeout."""

from __future__ import annotations

from ...rank_engine.rewrite import MODULE_FUNCTION
from ..judge import ProgramRun


def format_stacks(run: ProgramRun, file: str = "program.py") -> str:
    """The functions in which ranks wait, as `faulthandler.dump_traceback_later` prints them, without those of the
    library.

    A dump says where a rank waits, and not for whom.

    Args:
        run: of a program that hangs.
        file: the name of the program's file.

    Returns:
        A block of lines for each stack, ranks with the same one together, innermost function first.
    """
    ranks_by_stack: dict[tuple[str, ...], list[int]] = {}
    for wait in run.waits:
        frames = tuple(
            f'  File "{file}", line {frame.line} in {_name_function(frame.function)}' for frame in reversed(wait.frames)
        )
        ranks_by_stack.setdefault(frames, []).append(wait.rank)
    blocks = []
    for frames, ranks in ranks_by_stack.items():
        name = f"rank {', '.join(map(str, ranks))}"
        blocks.append("\n".join([f"# {name}", "Current thread (most recent call first):", *frames]))
    return "\n\n".join(blocks)


def format_logs(run: ProgramRun) -> str:
    """What the library prints after its timeout: of NCCL the first line of each rank, of MPI the launcher's.

    Args:
        run: of a program that hangs.

    Returns:
        Lines; empty where the program uses no library.
    """
    if not run.timeout_logs:
        return ""
    log = run.timeout_logs[0]
    first_lines = [text.splitlines()[0] for text in log.ranks if text]
    return "\n".join([*first_lines, log.launcher.strip()]).strip()


def _name_function(name: str) -> str:
    if name == MODULE_FUNCTION:
        return "<module>"
    return name
