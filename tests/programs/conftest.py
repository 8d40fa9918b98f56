"""Programs of the tests run in this process, which is faster than the sandbox; some tests use `cs.program` itself."""

from dataclasses import replace

import pytest

from collsim.programs.judge import judge
from collsim.rank_engine.execute import execute
from collsim.rank_engine.modes import execute_modes
from collsim.rank_engine.provenance import find_provenance
from collsim.rank_engine.start import build_plan, expect_collective, find_eager_limit


@pytest.fixture
def run_program():
    """As `cs.program`, without the sandbox."""

    def run(
        source,
        ranks=4,
        collective=None,
        *,
        expect=None,
        entry=None,
        nbytes="96B",
        eager_limit=None,
        arguments=None,
        machine=None,
        late=None,
    ):
        plan = build_plan(source, ranks, entry, collective, nbytes, arguments or {})
        if collective is not None and expect is None:
            expect = expect_collective(plan, collective)
        limit = find_eager_limit(plan.program, eager_limit)
        executions = execute_modes(lambda mode, keeps: execute(plan, mode, keeps), limit)
        if collective is not None and not (executions[0].hangs or executions[0].errors):
            executions[0] = replace(executions[0], provenance=find_provenance(plan, executions[0]))
        run = judge(ranks, executions, expect, limit)
        return replace(
            run,
            machine=machine,
            late=late or {},
            collective=collective,
            nbytes=plan.elements * plan.dtype.itemsize,
            dtype=plan.dtype.name,
            library=plan.program.library,
        )

    return run
