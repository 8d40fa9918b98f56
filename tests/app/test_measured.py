"""The Measured page: every published run in both languages, a log of one's own, and a sentence for everything that is
wrong."""

import gzip
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from catalogs import pair_page_texts
from sampling import sample
from streamlit.testing.v1 import AppTest
from test_pages import address, fine, messages
from tool_outputs import write_profiler_trace

import collsim as cs
from collsim.app.pages.measured import comparison, osu_comparison
from collsim.app.pages.measured.comparison import Selection
from collsim.app.scenario import custom_machine
from collsim.app.scenario.outcome import Refused
from collsim.display.markup import bind_units
from collsim.locale import LANGUAGES, list_placeholders, translate
from collsim.nccl import compare_ring_and_tree, explain_gap, get_published_run, load_published_runs, predict
from collsim.nccl.libraries import mpi
from collsim.nccl.machine.machine_words import parse_network
from collsim.nccl.measured.gaps import HYPOTHESES
from collsim.nccl.model.calibration_knobs import CLUSTER
from collsim.units import format_bytes, format_time

MEASURED = pair_page_texts("measured")


def measured() -> None:
    from collsim.app.main import main

    main(first="measured")


def opened(**query):
    at = AppTest.from_function(measured, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def text_of(at):
    return " ".join(e.proto.body for e in at.get("html"))


def charts(at):
    return len(at.get("arrow_vega_lite_chart")) + len(at.get("vega_lite_chart"))


def dropped(text, name="a.txt", **query):
    at = opened(run="own", **{"machine": "polaris", "nodes": "2"} | query)
    at.file_uploader[0].upload(name, text if isinstance(text, bytes) else text.encode(), "text/plain")
    return at.run()


def test_an_empty_file_is_named_and_a_log_of_powershell_is_read():
    assert messages(dropped(b"", "nothing.txt")) == ["nothing.txt is empty."]
    text = comparison.sample()
    at = dropped(text.encode("utf-16"))
    assert charts(at) == charts(dropped(text))
    assert not messages(at)


@pytest.mark.parametrize(
    ("language", "names"),
    sample([("en", list(load_published_runs())[::2]), ("zh", list(load_published_runs())[1::2])], 1),
)
def test_every_published_run_opens(language, names):
    at = fine(opened(lang=language))
    for name in names:
        fine(at.selectbox(key="w_e_run").set_value(name).run())
        assert charts(at) == 7
        assert get_published_run(name).source in text_of(at).replace("&amp;", "&")
        assert_assumptions_are_shown(at, get_published_run(name), language)


def assert_assumptions_are_shown(at, run, language):
    """Interval, assumptions and the measurement that would narrow it, of the largest size, as `predict` says them."""
    prediction = predict(run.collective, run.facts, run.nbytes[-1], run.facts.ranks, **dict(run.settings))
    interval, shown = prediction.interval(), unescape(text_of(at))
    times = {"time": prediction.time, "low": interval.low, "high": interval.high}
    values = {name: format_time(value) for name, value in times.items()}
    range_text = translate(language, "app", "assumptions.range", size=format_bytes(run.nbytes[-1]), **values)
    sentences = [sentence.text(language) for sentence in (*prediction.assumptions, *filter(None, [interval.reason]))]
    assert all(bind_units(text) in shown or text in shown for text in (range_text, *sentences))


@pytest.mark.parametrize(("language", "said"), [("en", "GPUDirect P2P was off"), ("zh", "GPUDirect P2P 被关闭")])
def test_the_machine_alone_leaves_a_gap_and_the_switch_is_named_as_a_hypothesis(language, said):
    at = fine(opened(run="a100-4-nop2p", told="plain", lang=language))
    assert said in text_of(at)
    assert ("not a finding" if language == "en" else "不是结论") in text_of(at)
    fine(at.segmented_control(key="w_e_told").set_value("all").run())
    assert said not in text_of(at)
    assert "told" not in address(at)


def test_the_map_of_choices_and_the_crossing_say_what_predict_says():
    crossings = {name: compare_ring_and_tree(run.facts).crossing for name, run in load_published_runs().items()}
    name = next(name for name, crossing in crossings.items() if crossing)
    at = fine(opened(run=name))
    assert bind_units(format_bytes(2 ** round(np.log2(crossings[name])))) in " ".join(
        m.value for m in at.markdown if "allreduce" in m.value
    )
    apart = next(name for name, crossing in crossings.items() if crossing is None)
    assert any("do not cross" in m.value for m in fine(opened(run=apart)).markdown)


def test_a_run_without_switches_cannot_be_told_less():
    at = fine(opened(run="a100-8", told="plain"))
    assert at.segmented_control(key="w_e_told").disabled
    assert "Nothing to explain" in text_of(at)


def test_the_address_says_what_is_shown_and_opens_it_again():
    at = fine(opened())
    assert address(at) == {}
    fine(at.selectbox(key="w_e_run").set_value("v100-8").run())
    fine(at.segmented_control(key="w_e_told").set_value("plain").run())
    assert address(at) == {"run": "v100-8", "told": "plain"}
    assert text_of(fine(opened(**address(at)))) == text_of(at)


@pytest.mark.parametrize(
    "shown",
    [Selection(), Selection("v100-8", plain=True), Selection("own", machine="polaris", nodes=4, p2p=False, gdr=False)],
)
def test_what_is_written_is_read_back(shown):
    assert comparison.ADDRESS.read(comparison.ADDRESS.write(shown)) == (shown, [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_log_is_one_click_away_and_its_machine_is_known(language):
    at = fine(opened(run="own", lang=language))
    assert charts(at) == 0
    fine(at.button(key="w_e_sample").click().run())
    assert charts(at) == 7
    assert at.selectbox(key="w_e_machine").value == "polaris"
    fine(at.toggle(key="w_e_p2p").set_value(False).run())
    assert address(at)["p2p"] == "off"


def test_a_log_of_ones_own_is_predicted_and_its_machine_guessed():
    at = fine(dropped(comparison.sample()))
    assert charts(at) == 7
    lines = "".join(
        f"#  Rank {r:2d} Group  0 Pid 1 on host{r // 8} device {r % 8} [0000:00:00] NVIDIA H100 80GB HBM3\n"
        for r in range(16)
    )
    guess = comparison.guess_machine(lines, Selection("own"))
    assert (guess.nodes, "H100" in comparison.read_facts(comparison.cs.machine(guess.machine)).gpu) == (2, True)
    card = comparison.guess_machine("# Rank 0 Pid 1 on a device 0 [0x01] NVIDIA GeForce RTX 4090\n", Selection("own"))
    assert card.machine == "rtx4090-8gpu"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("h0:1:1 [0] NCCL INFO NCCL version 2.18.3+cuda12.2", "2.18"),
        ("# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22605", "2.26"),
        ('{"version": 3, "nccl_version": 21205}', "2.12"),
        ("NCCL version 2.3.7", ""),
        ("no word of it", ""),
    ],
)
def test_the_version_of_nccl_is_read_off_the_log(line, version):
    assert comparison.extract_version(line) == version


@pytest.mark.parametrize(("language", "said"), [("en", "not there yet: "), ("zh", "当时还没有：")])
def test_the_version_of_a_log_counts_and_can_be_changed(language, said):
    at = fine(dropped("# NCCL version 2.12.12+cuda11.6\n" + comparison.sample(), lang=language))
    assert at.selectbox(key="w_e_version").value == "2.12"
    assert address(at)["version"] == "2.12"
    assert said in page_text(at)
    fine(at.selectbox(key="w_e_version").set_value("").run())
    assert said not in page_text(at)
    assert "version" not in address(at)


def page_text(at):
    """All words of the page, notes too."""
    return text_of(at) + " ".join(m.value for m in (*at.markdown, *at.caption))


def test_the_version_is_part_of_the_run_and_of_its_script():
    shown = Selection("own", text=comparison.sample(), machine="polaris", nodes=2, version="2.12")
    assert dict(comparison.load_selected_run(shown).settings) == {"version": "2.12"}
    assert 'version="2.12")' in comparison.build_python(shown)
    assert comparison.runs_on_nccl(shown)
    assert not comparison.runs_on_nccl(replace(shown, machine="mi300x-8gpu"))


def test_what_cannot_be_told_is_said_to_be_so():
    verdicts = {name: explain_gap(run).verdict for name, run in load_published_runs().items()}
    name = next(name for name, verdict in verdicts.items() if verdict == "within")
    assert "No cause can be named: " in text_of(fine(opened(run=name)))
    assert "无法确定原因" in text_of(fine(opened(run=name, lang="zh")))


def test_a_log_that_does_not_say_what_ran_is_asked_about():
    row = (
        "     1048576        262144     float     sum      -1    40.1   26.1   26.1       0    40.0   26.2   26.2   "
        "    0\n"
    )
    at = dropped(row)
    assert "choose the collective" in messages(at)[0]
    fine(at.selectbox(key="w_e_collective").set_value("allreduce").run())
    assert charts(at) == 7


def test_a_trace_of_pytorch_is_a_log_and_its_script_runs(tmp_path, monkeypatch):
    text = write_profiler_trace(ranks=8)
    at = fine(dropped(text, "rank0.json", machine="dgx-h100", nodes="1"))
    assert charts(at) == 7
    assert charts(dropped(gzip.compress(text.encode()), "rank0.json.gz", machine="dgx-h100", nodes="1")) == 7
    assert messages(dropped(gzip.compress(text.encode())[:40], "rank0.json.gz"))
    script = comparison.build_python(Selection("own", text=text, machine="dgx-h100"))
    (tmp_path / "trace.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(script.partition("print(")[0], names)
    assert (names["run"].nbytes, names["run"].facts.ranks) == ((2**28,), 8)


OSU = """# OSU MPI{kind} {test} Latency Test v7.4
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1024                   12.50             11.90             13.70        1000
1048576               804.30            800.26            812.33         100
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_osu_log_is_held_against_the_model_of_mpi(language):
    at = fine(dropped(OSU.format(kind="", test="Allreduce"), lang=language))
    assert charts(at) == 2
    assert ("buffers in host memory" if language == "en" else "主机内存") in text_of(at)
    assumed = {"en": "GDRCopy not stated", "zh": "没有给出 GPUDirect RDMA"}[language]
    assert assumed not in text_of(at)
    assert assumed in text_of(fine(dropped(OSU.format(kind="-CUDA", test="Allreduce"), lang=language)))
    fine(at.number_input(key="w_e_ranks").set_value(64).run())
    assert address(at)["ranks"] == "64"
    assert "64" in text_of(at)


def test_ranks_of_an_osu_log_are_one_per_gpu_until_somebody_says_otherwise_of_this_log_here():
    at = fine(dropped(OSU.format(kind="", test="Allreduce"), machine="polaris", nodes="2"))
    assert (at.number_input(key="w_e_ranks").value, "ranks" in address(at)) == (8, False)
    fine(at.number_input(key="w_e_nodes").set_value(4).run())
    assert (at.number_input(key="w_e_ranks").value, "ranks" in address(at)) == (16, False)
    fine(at.number_input(key="w_e_ranks").set_value(64).run())
    fine(at.toggle(key="w_e_p2p").set_value(False).run())
    assert address(at)["ranks"] == "64"
    fine(at.selectbox(key="w_e_machine").set_value("dgx-a100").run())
    assert (at.number_input(key="w_e_ranks").value, "ranks" in address(at)) == (32, False)
    fine(at.number_input(key="w_e_ranks").set_value(64).run())
    at.file_uploader[0].upload("another.txt", OSU.format(kind="", test="Allgather").encode(), "text/plain")
    fine(at.run())
    assert (at.number_input(key="w_e_ranks").value, "ranks" in address(at)) == (32, False)
    assert address(fine(dropped(OSU.format(kind="", test="Allreduce"), ranks="64")))["ranks"] == "64"


def test_the_mpi_model_gets_the_ranks_the_network_and_where_the_buffers_are(tmp_path, monkeypatch):
    shown = Selection("own", text=OSU.format(kind="-CUDA", test="Allgather"), machine="polaris", nodes=2, ranks=16)
    table, case = comparison.compare_with_mpi(shown)
    facts = comparison.read_facts(comparison.cs.machine("polaris", nodes=2))
    assert (case.ranks, case.nodes, case.collective, "none" in case.gpu) == (16, 2, "allgather", False)
    assert parse_network(case.inter_link) == (facts.nics, facts.nic_rate, facts.net, "")
    assert table["nbytes"].tolist() == [16 * 1024, 16 * 2**20]  # OSU counts what one rank gives
    assert table["predicted"].tolist() == [mpi.predict_mpi_time(case, n) for n in table["nbytes"]]
    staged, staged_case = comparison.compare_with_mpi(replace(shown, gdr=False))
    assert (case.gdr, staged_case.gdr) == ("", "no")
    assert (staged["predicted"] > table["predicted"]).all()
    host = comparison.compare_with_mpi(replace(shown, text=OSU.format(kind="", test="Allgather")))[0]
    assert (host["predicted"] != table["predicted"]).all()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "osu.log").write_text(shown.text)
    names = {}
    exec(osu_comparison.build_python(case), names)
    assert names["table"]["predicted"].tolist() == table["predicted"].tolist()


def test_an_osu_test_that_is_not_modelled_is_refused_in_one_sentence():
    (said,) = messages(dropped(OSU.format(kind="", test="Scatter")))
    assert "scatter" in said


HOSTILE_LOGS = {
    "a damaged OSU log": OSU.format(kind="", test="Allreduce").replace("800.26            812.33         100", ""),
    "an OSU title only": "# OSU MPI Allreduce Latency Test v7.4\n",
    "empty": "",
    "no table": "<script>alert(1)</script>\n" * 50,
    "no text": bytes(range(256)) * 40,
    "damaged row": comparison.sample().replace("float", "float 7 7", 1),
    "not JSON": '{"results": [',
    "other JSON": '{"results": 5}',
    "too many ranks": "# Rank 900 Pid 1 on a device 0 [0x01] X\n# all_reduce_perf\n 8 2 float sum -1 1.0 1 1 0 1.0 1 "
    "1 0\n",
    "only zeros": "# all_reduce_perf\n 0 0 float sum -1 0.0 0 0 0 0.0 0 0 0\n",
    "a huge size": "# all_reduce_perf\n 9999999999999999999 2 float sum -1 1.0 1 1 0 1.0 1 1 0\n",
}


@pytest.mark.parametrize("name", HOSTILE_LOGS)
def test_a_hostile_log_gets_one_sentence(name):
    at = dropped(HOSTILE_LOGS[name])
    assert not at.exception
    assert "<script>" not in text_of(at)
    assert name == "empty" or len(messages(at)) == 1
    assert "collsim itself" not in text_of(at)


HOSTILE = [
    {"run": "<script>alert(1)</script>"},
    {"run": "x" * 9000},
    {"told": "maybe"},
    {"run": "own", "machine": "dgx-h10"},
    {"run": "own", "machine": "cpu-2socket"},
    {"run": "own", "nodes": "-3"},
    {"run": "own", "nodes": "1e9"},
    {"run": "own", "p2p": "perhaps"},
    {"what": "ever"},
    {"lang": "tlh"},
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: str(q)[:60])
def test_a_hostile_address_gets_one_sentence_and_a_page(query):
    at = opened(**query)
    assert not at.exception
    assert len(messages(at)) == 1
    assert "<script>" not in text_of(at)
    assert charts(at) == (0 if query.get("run") == "own" else 7)


def test_both_languages_have_every_word_and_every_hypothesis():
    assert not [
        key
        for key, pair in MEASURED.items()
        if len(pair) != 2 or not all(pair) or list_placeholders(pair[0]) != list_placeholders(pair[1])
    ]
    assert {f"gap.{h.key}" for h in HYPOTHESES} == {key for key in MEASURED if key.startswith("gap.")}


def test_every_word_of_the_page_is_used():
    from pathlib import Path

    source = "".join(
        (Path(comparison.__file__).parent / name).read_text()
        for name in (
            "measured.py",
            "comparison.py",
            "nccl_log_comparison.py",
            "osu_comparison.py",
            "fitting.py",
            "measured_charts.py",
        )
    ).replace("'", '"')
    families = ("page.", "gap.", "knob.", "measured.told.", "measured.off.", "measured.guess.", "measured.none.")
    bands = {f"measured.{name}" for name in ("large", "middle", "small", "dots", "line", "band", "tuner", "under")}
    bands |= {f"graphs.{name}" for name in ("rings", "trees", "logged", "found")}
    assert not [
        key for key in MEASURED if f'"{key}"' not in source and not key.startswith(families) and key not in bands
    ]


TWO_TABLES = (
    comparison.sample()
    + """# nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 1024(factor)
#  Rank  0 Pid 1 on h device 0 [0x01] NVIDIA A100-SXM4-40GB
#  Rank  1 Pid 1 on h device 1 [0x02] NVIDIA A100-SXM4-40GB
# Collective test starting: all_gather_perf
        1024           128     float    none      -1    14.0    0.07    0.04       0    14.0    0.07    0.04       0
     1048576        131072     float    none      -1    30.0   34.95   17.48       0    30.0   34.95   17.48       0
"""
)
ROW = (
    "     1048576        262144     float     sum      -1    40.1   26.1   26.1       0    40.0   26.2   26.2       0\n"
)


@pytest.mark.parametrize(
    "shown",
    [
        Selection(),
        Selection("v100-8", plain=True),
        Selection("own", text=comparison.sample(), machine="polaris", nodes=2, p2p=False),
        Selection("own", text=TWO_TABLES, table=1, machine="dgx-a100"),
        Selection("own", text=ROW, collective="reduce_scatter", machine="polaris", nodes=2, gdr=False),
    ],
    ids=["published", "plain", "sample", "second table", "nobody says"],
)
def test_the_python_that_is_shown_makes_the_same_run(shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nccl-tests.txt").write_text(shown.text)
    names = {}
    exec(comparison.build_python(shown), names)
    assert names["run"] == comparison.load_selected_run(shown)


def test_a_log_whose_collective_is_known_is_fitted_on_every_pandas(monkeypatch):
    """pandas 2 refuses to fill with None, which pandas 3 takes for nothing to do."""
    fill = pd.Series.fillna

    def as_in_pandas_2(series, value=None, **options):
        if value is None:
            raise ValueError("Must specify a fill 'value' or 'method'.")
        return fill(series, value, **options)

    monkeypatch.setattr(pd.Series, "fillna", as_in_pandas_2)
    shown = Selection("own", text=comparison.sample(), machine=comparison.SAMPLE_MACHINE, nodes=2)
    assert set(comparison.fit_machine(shown).rows["collective"]) == {"allreduce"}
    with pytest.raises(Refused) as refused:
        comparison.fit_machine(replace(shown, text=ROW))
    assert refused.value.key == "measured.nocollective"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_log_calibrates_a_machine_that_is_predicted_calibrated_wherever_it_is_loaded(language):
    """The file that is handed out, read as the pages read a machine of one's own: its predictions are those of the
    calibration."""
    at = fine(opened(run="own", lang=language))
    fine(at.button(key="w_e_sample").click().run())
    fine(at.button(key="fit_do").click().run())
    shown = Selection("own", text=comparison.sample(), machine=comparison.SAMPLE_MACHINE, nodes=2)
    made = comparison.fit_machine(shown)
    assert f"{100 * made.held_out:.1f}" in text_of(at)
    assert made.after < 0.5 * made.before
    loaded = custom_machine.build(made.yaml, nodes=2)
    times = [predict("allreduce", loaded, int(n)).time for n in made.rows["nbytes"]]
    assert times == pytest.approx(made.rows["after"].tolist(), rel=1e-3)
    assert len({*made.factors, *made.unknown} - set(CLUSTER)) == 0


def test_every_factor_of_a_calibration_has_a_name_on_the_page():
    assert {f"knob.{name}" for name in CLUSTER} == {key for key in MEASURED if key.startswith("knob.")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_log_that_is_none_is_said_to_be_none(language):
    at = dropped("hello, this is no log", lang=language)
    assert MEASURED["measured.nolog"][language == "zh"] in messages(at)


INFO = """h:1:2 [0] NCCL INFO NCCL version 2.25.1+cuda12.8
h:1:2 [0] NCCL INFO comm 0x6 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0
h:1:2 [0] NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7
h:1:2 [0] NCCL INFO Channel 01/02 :    0   7   6   5   4   3   2   1
h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_log_of_nccl_is_held_against_the_search(language):
    """A100 behind NVSwitches: all rings 0 1 2 ... 7, so that the first of the log's two is found and the second is
    not."""
    at = fine(dropped(INFO, machine="dgx-a100", nodes="1", lang=language))
    assert translate(language, "app", "graphs.alike", count=1, channels=2) in " ".join(m.value for m in at.markdown)
    assert "P2P/CUMEM" in text_of(at)
    small = dropped(
        INFO.replace("nRanks 8", "nRanks 9").replace("5   6   7\n", "5   6   7   8\n", 1).replace("0   7", "0   8   7"),
        nodes="1",
        lang=language,
    )
    assert messages(small)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_log_of_nccl_that_states_why_calls_are_slow_is_read_out(language):
    """SHM on NVSwitches: P2P is off, and two channels run where the search has 24 (NVIDIA/nccl-tests issue 228)."""
    log = (
        INFO.replace("P2P/CUMEM", "SHM/direct/direct")
        + "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
    )
    at = fine(dropped(log, machine="dgx-a100", nodes="1", lang=language))
    column = language == "zh"
    stated = cs.diagnose({"nccl.log": log}).causes[0].explanation(language)
    assert MEASURED["graphs.causes"][column].format(causes=stated) in text_of(at)
    assert [link.proto.page for link in at.get("page_link")] == ["diagnosis"]
    assert translate(language, "app", "graphs.fewchannels", logged=2, searched=24) in text_of(at)
    assert "NCCL_P2P_LEVEL=LOC" in text_of(at)
    # a machine without P2P has it so by itself, and a healthy log states no cause
    for text, machine in ((log, "rtx4090-8gpu"), (INFO, "dgx-a100")):
        at = fine(dropped(text, machine=machine, nodes="1", lang=language))
        assert MEASURED["graphs.causes"][column].partition("{")[0] not in text_of(at)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_log_of_nccl_says_on_how_many_nodes_it_ran_and_other_numbers_are_refused(language):
    """Two hosts of four GPUs each: rings of any other number of nodes say nothing of it."""
    log = INFO.replace("nNodes 1 localRanks 8", "nNodes 2 localRanks 4")
    at = fine(dropped(log, machine="dgx-a100", nodes="1", lang=language))
    assert at.number_input(key="w_e_nodes").value == 2
    at.number_input(key="w_e_nodes").set_value(4).run()
    assert messages(at) == [MEASURED["graphs.othernodes"][language == "zh"].format(logged=2, nodes=4)]
    silent = INFO.replace(" nNodes 1 localRanks 8 localRank 0", "")
    assert fine(dropped(silent, machine="dgx-a100", nodes="2")).number_input(key="w_e_nodes").value == 2
