"""`collsim mcp`, spoken to by the protocol's own client: it answers as Python does, and refuses what is too much."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import collsim as cs

#: What a client that means no good may send: tool, arguments, and a word of the refusal.
HOSTILE = [
    ("compare", {"collective": "allreduce", "machine": "dgx-a100", "nodes": 9}, "1 to 64"),
    ("compare", {"collective": "allreduce", "machine": "dgx-a100", "nbytes": ["1KiB"] * 9}, "1 to 8"),
    ("compare", {"collective": "allreduce", "machine": "/etc/passwd"}, "unknown"),
    ("compare", {"collective": "x" * 100_000, "machine": "dgx-a100"}, "unknown"),
    ("predict", {"collective": "allreduce", "machine": "dgx-a100", "nbytes": "1GiB", "nodes": -1}, "1 to 1024"),
    ("predict", {"collective": "allreduce", "machine": "dgx-a100", "nbytes": "1e999"}, "1e999"),
    ("predict", {"collective": "allreduce", "machine": ["dgx-a100"], "nbytes": "1GiB"}, "string"),
    ("explain", {"algorithm": "evil.py:run", "machine": "dgx-a100", "nbytes": "1MiB"}, "unknown"),
    ("diagnose", {"texts": {"log": "x" * 2_000_001}}, "1 to 2000000"),
    ("diagnose", {"texts": {str(k): "x" for k in range(65)}}, "1 to 64"),
    ("diagnose", {"texts": {}}, "1 to 64"),
]
LOG = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"


async def talk(calls):
    """Names of the tools, whether all are read-only, and the answer of each call: (is_error, text)."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "collsim", "mcp"])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        answers = []
        for name, arguments in calls:
            result = await session.call_tool(name, arguments)
            answers.append((bool(result.is_error), result.content[0].text))
    return tools, answers


@pytest.fixture(scope="module")
def conversation():
    """One server answers sensible calls, hostile ones, and a sensible one again."""
    machine = {"machine": "dgx-a100"}
    sensible = [
        ("compare", {"collective": "allreduce", "nbytes": ["1MiB"], **machine}),
        ("predict", {"collective": "allreduce", "nbytes": "1GiB", "version": "2.30", **machine}),
        ("diagnose", {"texts": {"nccl.log": LOG}}),
        ("explain", {"algorithm": "allreduce_ring", "nbytes": "256MiB", "nodes": 2, **machine}),
    ]
    hostile = [(name, arguments) for name, arguments, _ in HOSTILE]
    calls = [*sensible, *hostile, sensible[1]]
    # In a thread of its own: the browser of other tests leaves this one with a running loop.
    with ThreadPoolExecutor(1) as thread:
        tools, answers = thread.submit(asyncio.run, asyncio.wait_for(talk(calls), 300)).result()
    return tools, answers[:4], answers[4:-1], answers[-1]


def test_its_tools_are_four_and_only_read(conversation):
    assert sorted(tool.name for tool in conversation[0]) == ["compare", "diagnose", "explain", "predict"]
    assert all(tool.annotations.read_only_hint and tool.description for tool in conversation[0])


def test_it_answers_as_python_does(conversation):
    assert [is_error for is_error, _ in conversation[1]] == [False] * 4, conversation[1]
    compared, predicted, diagnosed, explained = (json.loads(text) for _, text in conversation[1])
    machine = cs.machine("dgx-a100")
    frame = cs.compare("allreduce", machine, ["1MiB"])
    assert [row["algorithm"] for row in compared["rows"]] == frame.algorithm.tolist()
    assert predicted["time"] == cs.nccl.predict("allreduce", machine, "1GiB", version="2.30").time
    assert predicted["low"] < predicted["time"] < predicted["high"]
    assumptions = cs.nccl.predict("allreduce", machine, "1GiB", version="2.30").assumptions
    assert predicted["assumptions"] == [str(each) for each in assumptions]
    assert diagnosed["causes"][0]
    assert cs.diagnose({"nccl.log": LOG}).verdict == diagnosed["verdict"] == "cause"
    two = cs.machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=two), two, "256MiB")
    assert (explained["time"], explained["gap"]) == (trace.time, trace.gap)
    assert explained["bottleneck"] == trace.bottleneck.name


def test_a_hostile_client_is_refused_in_a_sentence_and_the_server_lives_on(conversation):
    for (name, _, word), (is_error, text) in zip(HOSTILE, conversation[2], strict=True):
        assert is_error, (name, text[:200])
        assert word in text, (name, text[:300])
        assert "Traceback" not in text
        assert len(text) < 2_000
    assert conversation[3] == conversation[1][1]
