"""The page Why is this job slow: studied cases, texts in both languages, hostile texts."""

import time

import pytest
from sampling import cross
from streamlit.testing.v1 import AppTest

import collsim as cs
from collsim.app.pages.diagnosis.job_findings import format_fleet
from collsim.app.pages.diagnosis.slow_job import JobTexts, diagnose_texts
from collsim.diagnosis import list_studied_cases
from collsim.display.markup import escape_text
from collsim.locale import LANGUAGES, load_messages, translate

IBSTAT = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: {}\n\t\tLink layer: InfiniBand\n"


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
        if 'class="dx-piece"' in texts_of(at):
            return at
        time.sleep(0.3)
        at.run()
    raise AssertionError(texts_of(at))


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("key", "language"), cross(list_studied_cases(), LANGUAGES))
def test_a_studied_case_is_told_with_the_lines_the_check_and_the_fix(key, language):
    at = settled(opened(language, case=key))
    assert not at.exception
    shown = plain(texts_of(at))
    case = list_studied_cases()[key]
    diagnosis = cs.diagnose(case.texts, model="gpt2-xl")
    assert plain(case.title(language)) in shown
    for cause in diagnosis.causes:
        assert plain(escape_text(cause.explanation(language))) in shown
        assert plain(escape_text(cause.check(language))) in shown
        assert plain(escape_text(cause.fix(language))) in shown
        for fact in cause.evidence:
            assert f"{fact.piece}:{fact.line}</u>" in shown
    for question in diagnosis.questions:
        assert plain(escape_text(translate(language, "diagnosis", f"{question.key}.title"))) in shown
    if diagnosis.cost is not None and diagnosis.cost.training is not None:
        assert f"{diagnosis.cost.training.hours_of_day:.3g} " in shown


def test_a_pasted_line_is_diagnosed_and_markup_stays_text():
    at = opened()
    line = "h:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1."
    at.text_area(key="w_d_text").set_value(
        f"<script>alert(1)</script>\n{line}\n<img src=x onerror=alert(2)>{line}"
    ).run()
    at = settled(at)
    assert not at.exception
    shown = texts_of(at)
    assert "NCCL_P2P_DISABLE" in shown
    assert "<script>alert" not in shown
    assert "<img" not in shown


def test_a_piece_that_is_left_out_is_judged_no_more_and_can_be_taken_back():
    at = settled(opened(case="p2p_disabled"))
    assert "nccl.log:2" in texts_of(at)
    drop = [button for button in at.button if (button.key or "").startswith("w_d_drop_")]
    assert len(drop) == 2
    drop[1].click().run()
    for _ in range(60):
        if "nccl.log:2" not in texts_of(at):
            break
        time.sleep(0.3)
        at.run()
    assert "nccl.log:2" not in texts_of(at)
    at.button(key="w_d_take_back").click().run()
    for _ in range(60):
        if "nccl.log:2" in texts_of(at):
            break
        time.sleep(0.3)
        at.run()
    assert "nccl.log:2" in texts_of(at)


def test_the_page_says_what_python_says():
    for key, case in list_studied_cases().items():
        assert diagnose_texts(JobTexts(case=key, model="")).to_json() == cs.diagnose(case.texts).to_json()
    assert diagnose_texts(JobTexts((("x", "nothing"),))).verdict == "unknown"
    nodes = tuple((f"node-{k}.ibstat.txt", IBSTAT.format(rate)) for k, rate in enumerate((400, 400, 200, 400)))
    fleet = diagnose_texts(JobTexts(nodes))
    assert fleet.odd_nodes == ("node-2",)
    assert fleet.to_json() == cs.diagnosis.compare_nodes(dict(nodes), model="gpt2-xl").to_json()


def test_of_two_pieces_that_disagree_either_can_be_kept():
    comm = "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0"
    matrix = "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X "
    evidence = JobTexts((("nccl.log", comm), ("topo.txt", matrix)), model="")
    diagnosis = diagnose_texts(evidence)
    assert [contradiction.key for contradiction in diagnosis.contradictions] == ["gpus"]
    kept = diagnose_texts(JobTexts(evidence.pieces, model="", left_out=("topo.txt",)))
    assert kept.contradictions == ()
    assert [piece.name for piece in kept.pieces] == ["nccl.log"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nodes_that_differ_are_a_table_in_the_language_of_the_page(language):
    texts = {f"<b>node-{k}.ibstat.txt": IBSTAT.format(rate) for k, rate in enumerate((400, 400, 200, 400))}
    rows = cs.diagnosis.compare_nodes(texts).list_rows(language)
    table = format_fleet(rows, language)
    assert table.count("<tr>") == 1 + len(rows) == 2
    assert "200 Gbit/s" in table.replace("\N{NO-BREAK SPACE}", " ")
    assert translate(language, "diagnosis", "fleet.column.node") in table
    assert "<b>" not in table


def test_an_unknown_studied_case_in_a_link_is_named():
    at = opened(case="socket")
    assert "socket" in texts_of(at)
    assert not at.exception


def test_every_text_of_the_page_is_in_both_languages():
    english, chinese = (load_messages(language, "app") for language in LANGUAGES)
    assert [key for key in english if key.startswith("diagnosis.")] == [
        key for key in chinese if key.startswith("diagnosis.")
    ]
