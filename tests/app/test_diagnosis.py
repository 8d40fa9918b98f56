"""The page Why is this job slow: studied cases, texts in both languages, hostile texts."""

import time

import pytest
from streamlit.testing.v1 import AppTest

import collsim as cs
from collsim.app.pages.diagnosis.slow_job import JobTexts, diagnose_texts
from collsim.diagnosis import list_studied_cases
from collsim.locale import LANGUAGES, load_messages, translate


def opened(language="en", **words):
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='diagnosis')", default_timeout=60)
    at.query_params["lang"] = language
    for word, value in words.items():
        at.query_params[word] = value
    at.run()
    assert not at.exception
    return at


def texts_of(at):
    return " ".join(element.proto.body for element in at.get("html")) + " ".join(m.value for m in at.markdown)


def settled(at):
    """The page after its worker has answered."""
    for _ in range(120):
        if at.code:
            return at
        time.sleep(0.3)
        at.run()
    raise AssertionError(texts_of(at))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_studied_case_names_its_cause_with_the_line_the_check_and_the_fix(language):
    at = opened(language)
    at.selectbox(key="w_d_case").select("p2p_disabled").run()
    at = settled(at)
    assert not at.exception
    shown = texts_of(at)
    assert translate(language, "diagnosis", "p2p_disabled.title").split("，")[0] in shown
    codes = [code.value for code in at.code]
    assert any("nccl.log:2: " in code for code in codes)
    assert translate(language, "diagnosis", "p2p_disabled.check") in codes


def test_a_pasted_line_is_diagnosed_and_markup_stays_text():
    at = opened()
    at.text_area(key="w_d_text").set_value(
        "h:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.<script>"
    ).run()
    at.text_area(key="w_d_text").set_value("h:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.").run()
    at = settled(at)
    assert "<script>" not in texts_of(at)
    assert any("NCCL_P2P_DISABLE" in code.value for code in at.code)


def test_the_page_says_what_python_says():
    for key, case in list_studied_cases().items():
        assert diagnose_texts(JobTexts(case=key)).to_json() == cs.diagnose(case.texts).to_json()
    assert diagnose_texts(JobTexts((("x", "nothing"),))).verdict == "unknown"


def test_a_link_opens_a_studied_case_and_an_unknown_one_is_named():
    at = opened(case="sockets")
    at = settled(at)
    assert list_studied_cases()["sockets"].title() in texts_of(at).replace("\N{NO-BREAK SPACE}", " ")
    at = opened(case="socket")
    assert "socket" in texts_of(at)
    assert not at.exception


def test_every_text_of_the_page_is_in_both_languages():
    english, chinese = (load_messages(language, "app") for language in LANGUAGES)
    assert [key for key in english if key.startswith("diagnosis.")] == [
        key for key in chinese if key.startswith("diagnosis.")
    ]
