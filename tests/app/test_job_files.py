"""Files of a hung job on the page Bring your program."""

import pytest
from streamlit.testing.v1 import AppTest

import collsim as cs
from collsim.app.pages.program.job_files import read_job_files

SOURCE = """import torch
import torch.distributed as dist
x = torch.ones(4)
if dist.get_rank() != 1:
    dist.all_reduce(x)
"""


def test_uploaded_dumps_are_read_whatever_their_names_and_order():
    run = cs.program(SOURCE, 3)
    files = [(f"../../etc/trace_{rank}", data) for rank, data in run.flight_recorder().items()]
    assert read_job_files(files[::-1]) == run.hang
    assert read_job_files(files).culprits == (1,)
    with pytest.raises(cs.FormatError, match="rank 0"):
        read_job_files([files[0], ("other_0", files[0][1])])
    with pytest.raises(cs.CollsimError):
        read_job_files([("..", b"x")])
    with pytest.raises(cs.CollsimError):
        read_job_files([("\0", b"x")])


def program() -> None:
    """The app on this page."""
    from collsim.app.main import main

    main(first="program")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_which_rank_is_behind(language):
    at = AppTest.from_function(program, default_timeout=60)
    at.query_params["lang"] = language
    at.run()
    at.text_area(key="w_job_text").set_value(RAS).run()
    assert not at.exception
    shown = " ".join(str(element.proto.body) for element in at.get("html"))
    assert {"en": "Behind: rank 2", "zh": "落后的是 rank 2"}[language] in shown
    at.text_area(key="w_job_text").set_value("nothing of the kind").run()
    assert not at.exception


RAS = """Communicators... (0.00s)
    0         1         1         4         4         4   RUNNING  MISMATCH
#0-0 (0a) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 7
  Rank 2 has launched up to operation 6 -- GPU 2 managed by process 3 on node a
"""
