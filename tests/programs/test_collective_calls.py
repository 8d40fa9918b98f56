"""The collectives that a program's library ran are a table: in Python, on the command line and on the page."""

import time
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.scenario.address_parameters import pack_text
from collsim.cli import app

#: One bucket of 32 * 64 + 64 + 64 * 10 + 10 gradients of four bytes each.
TRAINING = """import torch
import torch.nn as nn
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)))
for step in range(3):
    model(torch.randn(16, 32)).sum().backward()
"""
BUCKET = 4 * (32 * 64 + 64 + 64 * 10 + 10)


def test_buckets_of_data_parallel_training_are_a_row():
    calls = cs.program(TRAINING, 4).collectives
    (bucket,) = calls[calls["call"] == "all_reduce"].to_dict("records")
    assert bucket == {"line": 8, "call": "all_reduce", "ranks": 4, "nbytes": BUCKET, "dtype": "float32", "calls": 3}
    assert calls["line"].tolist()[0] == 6  # the models of all ranks are compared first


def test_groups_are_apart_and_what_did_not_end_or_is_a_message_has_no_row():
    source = """import torch
import torch.distributed as dist
pair = dist.new_group([1, 2])
x = torch.ones(5)
if dist.get_rank() in (1, 2):
    dist.broadcast(x, 1, group=pair)
dist.all_reduce(x.double())
if dist.get_rank() == 0:
    dist.send(x, 1)
elif dist.get_rank() == 1:
    dist.recv(x, 0)
if dist.get_rank() != 2:
    dist.barrier()
"""
    run = cs.program(source, 3)
    assert run.verdict == "hangs"
    rows = run.collectives[["line", "call", "ranks", "nbytes", "dtype", "calls"]].to_numpy().tolist()
    assert sorted(rows) == [[6, "broadcast", 2, 20, "float32", 1], [7, "all_reduce", 3, 40, "float64", 1]]
    assert len(cs.program("print(1)", 2).collectives) == 0


def test_the_command_prints_them(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAINING)
    text = CliRunner().invoke(app, ["program", str(path)]).stdout
    (line,) = [line for line in text.splitlines() if "all_reduce" in line]
    assert line.split() == ["8", "all_reduce", "4", "10.8", "KiB", "float32", "3"]


def program() -> None:
    """The app on this page."""
    from collsim.app.main import main

    main(first="program")


@pytest.mark.parametrize(("language", "head"), [("en", "Collectives of the library"), ("zh", "库执行的集合通信")])
def test_the_page_shows_them_and_does_not_say_that_there_are_no_messages(language, head):
    at = AppTest.from_function(program, default_timeout=60)
    for name, value in {"lang": language, "collective": "none", "code": pack_text(TRAINING)}.items():
        at.query_params[name] = value
    at.run().button(key="program_run_link").click().run()
    for _ in range(60):  # it runs in a process of its own
        page = unescape(" ".join(e.proto.body for e in at.get("html")))
        if head in page:
            break
        time.sleep(0.2)
        at.run()
    assert not at.exception
    assert head in page
    assert "all_reduce" in page
    assert "one process holds" not in page
    assert "一个进程" not in page
