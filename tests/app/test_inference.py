"""The page Inference: its figures are those of Python and of the command line."""

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import fine, messages

import collsim as cs
from collsim.app.pages import inference
from collsim.app.shell import charts


def run_page(**query):
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='inference')", default_timeout=90)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def opened(**query):
    return fine(run_page(**query))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_what_python_says(language):
    query = {
        "model": "mixtral-8x7b",
        "machine": "dgx-a100",
        "nodes": "2",
        "tensor": "2",
        "expert": "8",
        "prompt": "999",
    }
    at = opened(lang=language, **query)
    times = cs.inference.time_inference(
        "mixtral-8x7b", cs.machine("dgx-a100", nodes=2), tensor=2, expert=8, batch=8, prompt=999
    )
    assert any(times.text(language) in text.value.replace("\\", "") for text in at.markdown)
    assert at.dataframe[0].value.to_dict("records") == times.list_cells(language)


def test_bars_add_up_to_their_phase(monkeypatch):
    seen = []
    monkeypatch.setattr(charts, "draw_chart", lambda key, make, frame: seen.append((make(frame), frame)))
    opened(model="deepseek-v3", tensor="1", expert="16", nodes="2")
    (picture, frame), *_ = seen
    picture.to_dict()  # valid Vega-Lite
    assert frame.groupby("phase")["share"].sum().tolist() == pytest.approx([100, 100])
    assert len(frame) == 2 * 3, "computing, dispatch and combine"


def test_script_and_command_give_the_figures_of_the_page(capsys):
    choice = inference.ADDRESS.read({"model": "llama3-8b", "tensor": "4", "nodes": "1"})[0]
    exec(compile(inference.build_script(choice), "page", "exec"), {})
    assert capsys.readouterr().out.strip() == inference.estimate_times(choice).text()
    assert inference.build_command(choice).startswith("collsim inference llama3-8b --machine dgx-h100")


def test_an_address_that_cannot_be_used_is_complained_about():
    assert inference.ADDRESS.read({"model": "vgg16"})[1], "writes no text"
    assert inference.ADDRESS.read({"tensor": "0"})[1]
    at = run_page(tensor="64")  # more than the machine has
    assert not at.exception
    assert ["64 GPUs" in text for text in messages(at)] == [True]


def test_only_decoders_are_offered():
    names = inference.list_decoders()
    assert {"gpt2", "llama3-70b", "deepseek-v3", "mixtral-8x7b"} <= set(names)
    assert not {"bert-base", "resnet50", "vit_b_16"} & set(names)
