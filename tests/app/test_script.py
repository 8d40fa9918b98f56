"""The page Read a script: samples, a pasted command, markup that stays text, and the same answer as Python."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from collsim.app.pages.script.script_reading import PastedScript, answer_script
from collsim.locale import LANGUAGES, translate
from collsim.training_scripts import predict_step, read_script
from collsim.training_scripts.samples import load_samples


def opened(language="en", **words):
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='script')", default_timeout=60)
    at.query_params["lang"] = language
    for word, value in words.items():
        at.query_params[word] = value
    at.run()
    assert not at.exception
    return at


def texts_of(at):
    return " ".join(element.proto.body for element in at.get("html")) + " ".join(m.value for m in at.markdown)


def settled(at, word):
    """The page after its worker has answered with a word."""
    for _ in range(120):
        if word in texts_of(at).replace("\N{NO-BREAK SPACE}", " "):
            return at
        time.sleep(0.3)
        at.run()
    raise AssertionError(texts_of(at))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sample_has_each_finding_with_its_line_and_the_corrected_script(language):
    reading = read_script(load_samples()["ddp"])
    at = settled(opened(language), reading.findings[0].reason(language)[:30])
    shown = texts_of(at).replace("\N{NO-BREAK SPACE}", " ")
    assert all(finding.reason(language)[:30] in shown for finding in reading.findings)
    assert reading.parts[0].corrected.strip() in [code.value for code in at.code]
    assert not at.exception


def test_a_pasted_command_is_read_and_markup_stays_text():
    at = opened(machine="rtx4090-8gpu")
    at.text_area(key="w_s_text").set_value("python main.py -a resnet18 --dist-backend nccl -b 512 <script> d/").run()
    at = settled(at, "has no effect")
    assert "<script>" not in texts_of(at)
    assert "rtx4090-8gpu, 8 GPUs, batch 512" in texts_of(at).replace("\N{NO-BREAK SPACE}", " ")


def test_a_text_without_a_script_is_said_to_have_none():
    at = opened()
    at.text_area(key="w_s_text").set_value("今天天气很好。").run()
    at = settled(at, "neither a script nor a command")
    assert not at.exception


def test_the_page_says_what_python_says():
    for name, text in load_samples().items():
        answer = answer_script(PastedScript(sample=name))
        assert answer.reading == read_script(text)
        step = predict_step(read_script(text).parts[0], "dgx-a100")
        assert (answer.steps[0].time, answer.steps[0].text()) == (step.time, step.text())
        assert answer.reading.findings


def test_an_unknown_word_of_the_address_is_named():
    at = opened(sample="dpp")
    assert translate("en", "scripts", "sample.ddp") in str(at.selectbox(key="w_s_sample").options)
    assert "dpp" in texts_of(settled(at, "dpp"))


def test_a_step_that_the_machine_cannot_run_leaves_what_the_script_says():
    command = "docker run img torchrun --nnodes 900000 --nproc_per_node 8 train.py --arch resnet18"
    answer = answer_script(PastedScript(command, machine="dgx-a100"))
    assert answer.reading == read_script(command)
    assert answer.steps == (None,)
    at = opened()
    at.text_area[0].set_value(command).run()
    settled(at, "processes: 7200000")
    assert "900,000 nodes of dgx-a100" in str(answer.problems[0])
    assert str(answer.problems[0]) in texts_of(at)
