"""A program that does not end is stopped after so many steps, calls or messages, and the verdict has rank and line."""

import pytest
from sampling import keep_fast

LOOPS = {
    "empty": ("def run(rank, size):\n    while True:\n        pass\n", 2, "steps"),
    "one rank": ("def run(rank, size):\n    while rank == 1:\n        rank = 1\n", 2, "steps"),
    "comprehension": ("def run(rank, size):\n    r = range(10**12)\n    return [1 for a in r if a < 0]\n", 3, "steps"),
    "generator": (
        "def g():\n    while True:\n        yield 1\ndef run(rank, size):\n    return sum(g())\n",
        2,
        "steps",
    ),
    "property": (
        "class C:\n    @property\n    def x(self):\n        while True: pass\ndef run(rank, size):\n    return C().x\n",
        4,
        "steps",
    ),
    "operator": (
        "class C:\n    def __getitem__(self, i):\n        return 1 if i < 2 else self[i - 1] + self[i - 2]\n"
        "def run(rank, size):\n    return C()[90]\n",
        2,
        "steps",
    ),
    "caught": (
        "def run(rank, size):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass\n",
        4,
        "steps",
    ),
    "caught at its end": (
        "def run(rank, size):\n    try:\n        while True: pass\n    except BaseException:\n        return 1\n",
        3,
        "steps",
    ),
    "finally": (
        "def f():\n    try:\n        while True: pass\n    finally: f()\ndef run(rank, size):\n    f()\n",
        3,
        "steps",
    ),
    "sends that catch": (
        "import torch, torch.distributed as dist\ndef run(rank, size):\n    x = torch.zeros(1)\n    while True:\n"
        "        try: dist.isend(x, 1 - rank)\n        except BaseException: pass\n",
        5,
        "messages",
    ),
    "collectives": (
        "import torch, torch.distributed as dist\ndef run(rank, size):\n    x = torch.zeros(1)\n    while True:\n"
        "        dist.all_reduce(x)\n",
        5,
        "calls",
    ),
    "threads": (
        "import threading\ndef f():\n    while True:\n        threading.Thread(target=f).start()\nf()\n",
        4,
        "threads",
    ),
}


@pytest.mark.parametrize("name", keep_fast(LOOPS, [name for name in LOOPS if name != "sends that catch"]))
def test_what_never_ends_is_stopped_with_rank_and_line(run_program, monkeypatch, name):
    source, line, limit = LOOPS[name]
    # fewer than outside of tests, so that each case takes milliseconds
    for most, count in {"STEPS": 20_000, "MESSAGES": 200, "CALLS": 500, "THREADS": 50}.items():
        monkeypatch.setattr(f"collsim.rank_engine.engine.MAX_{most}", count)
    run = run_program(source, 2)
    assert run.verdict == "error"
    assert [(error.line, error.limit) for error in run.errors] == [(line, limit)]
    assert f"line {line}" in run.explanation()
    assert f"第 {line} 行" in run.explanation("zh")
    if name == "one rank":
        assert run.errors[0].rank == 1
        assert run.explanation().startswith("Rank 1 ")


def test_a_million_turns_are_no_endless_loop(run_program):
    run = run_program(
        "def run(rank, size):\n    x = 0\n    for _ in range(1_000_000):\n        x += 1\n    return x\n", 1
    )
    assert run.verdict == "ends"
    assert run.results == (1_000_000,)


def test_a_name_of_the_engine_is_refused_with_its_line(run_program):
    with pytest.raises(ValueError, match=r"line 2: the engine uses the name count_steps__"):
        run_program("x = 1\ndef count_steps__(n): return True\n", 1)
