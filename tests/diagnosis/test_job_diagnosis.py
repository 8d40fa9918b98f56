"""A cause is named where lines state it, and not where a line contradicts it; healthy jobs are called healthy."""

import csv
import json
from pathlib import Path

import pytest
from stated_causes import A100, ACS, BOX, PAIR, STATED, VIA_GDR, VIA_P2P, VIA_SHM, info, log, table

import collsim as cs
from collsim.diagnosis import list_studied_cases
from collsim.diagnosis.causes import CAUSES
from collsim.locale import LANGUAGES, load_messages
from collsim.programs.job_records.flight_recorder import save_dumps

ROOT = Path(__file__).parents[2]
GIVEN = ROOT.parent / "shared" / "data" / "evidence"


def diagnose(texts, **options):
    return cs.diagnose({f"text{number}": text for number, text in enumerate(texts)}, **options)


@pytest.mark.parametrize("key", [cause.key for cause in CAUSES])
def test_lines_that_state_a_cause_name_it_first_with_the_lines(key):
    found = diagnose(STATED[key])
    assert found.verdict == "cause"
    assert found.causes[0].key == key, [cause.key for cause in found.causes]
    assert found.causes[0].is_stated
    texts = {f"text{number}": text for number, text in enumerate(STATED[key])}
    for fact in found.causes[0].evidence:
        assert fact.text == texts[fact.piece].splitlines()[fact.line - 1].strip()[:200]


@pytest.mark.parametrize(
    ("key", "against"),
    [
        ("p2p_disabled", log(VIA_P2P)),
        ("sockets", log(VIA_GDR)),
        ("gdr_module", log(VIA_GDR)),
        ("acs", "$ systemd-detect-virt\nkvm"),
        ("numa_balancing", "kernel.numa_balancing = 0"),
    ],
)
def test_a_line_that_contradicts_a_cause_rules_it_out(key, against):
    found = diagnose([*STATED[key], against])
    assert key not in [cause.key for cause in found.causes]
    assert key in [ruled_out for ruled_out, _ in found.ruled_out]


def test_a_job_as_fast_as_predicted_is_healthy_whatever_words_look_bad():
    found = diagnose([log("NVLS multicast support is not available on dev 0", VIA_P2P), table(BOX, A100)])
    assert (found.verdict, found.causes) == ("healthy", ())
    assert found.cost.measured == pytest.approx(found.cost.possible, rel=0.02)


def test_a_link_that_sleeps_is_healthy():
    idle = "index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n0, P8, 1, 4, 16, 16"
    assert diagnose([idle]).causes == ()
    assert (
        diagnose(
            [
                "25:00.0 VGA\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16"
            ]
        ).causes
        == ()
    )


def test_acs_alone_is_no_cause_where_nothing_is_slow():
    assert diagnose([ACS, table(PAIR, A100, ("n1", "n2"))]).verdict == "healthy"
    assert diagnose([ACS]).verdict == "unknown"


def test_peers_slower_than_staging_are_asked_about_and_not_decided():
    rows = "{title}\n   D\\D     0      1 \n     0 900.0 {rate} \n     1 {rate} 900.0 \n"
    matrices = rows.format(title="Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", rate="22.1") + rows.format(
        title="Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", rate="10.1"
    )
    found = diagnose([matrices])
    assert found.verdict == "undecided"
    assert [(question.key, question.causes) for question in found.questions] == [
        ("slow_peers", ("acs", "iommu", "numa_partitions"))
    ]


def test_the_cost_is_that_of_the_prediction():
    found = diagnose(
        [log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM), table(BOX, A100, NCCL_P2P_LEVEL="LOC")]
    )
    plain, slow = (cs.nccl.predict("allreduce", BOX, 2**30, **s) for s in ({}, {"NCCL_P2P_LEVEL": "LOC"}))
    assert found.cost.possible == pytest.approx(plain.busbw)
    assert found.cost.measured == pytest.approx(slow.busbw, rel=0.01)
    assert found.causes[0].predicted == pytest.approx(slow.busbw, rel=0.3)


@pytest.fixture(scope="module")
def slow_run():
    """A job without P2P, measured at what the prediction without P2P says."""
    texts = [log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM), table(BOX, A100, NCCL_P2P_LEVEL="LOC")]
    return diagnose(texts, model="gpt2", batch=64)


def test_the_cost_of_a_training_step_is_that_of_training_on_the_slow_and_on_the_healthy_machine(slow_run):
    cost = slow_run.cost.training
    healthy, slow = (
        cs.training_step("gpt2", machine, parallel=cs.ddp(), batch=64, dtype="bfloat16")
        for machine in (BOX, cs.machine("dgx-a100", p2p=False))
    )
    assert cost.possible == pytest.approx(healthy.time)
    assert cost.step == pytest.approx(slow.time, rel=0.05)  # the table has a size in four only
    assert (cost.low, cost.high) == pytest.approx((healthy.interval.low, healthy.interval.high))
    assert cost.hours_of_day == pytest.approx(24 * healthy.time / slow.time, rel=0.05)
    assert slow_run.causes[0].cost == slow_run.cost
    for written in (slow_run.report(), slow_run.report("zh"), slow_run.to_json()):
        assert "gpt2" in written
    document = json.loads(slow_run.to_json())["cost"]["training"]
    assert (document["step"], document["hours_of_day"]) == (cost.step, cost.hours_of_day)


def test_one_of_two_causes_alone_gains_what_the_other_leaves():
    texts = [
        log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM, "NCCL_MAX_NCHANNELS set by environment to 2."),
        table(BOX, A100, NCCL_P2P_LEVEL="LOC"),
    ]
    both = diagnose(texts, model="gpt2")
    first, second = both.causes
    assert first.cost.possible == pytest.approx(second.predicted)
    assert second.cost.possible == pytest.approx(max(first.predicted, both.cost.measured))
    assert first.cost.training.possible > both.cost.training.possible


def test_a_model_that_does_not_fit_or_a_job_without_times_is_said_and_an_unknown_model_refused():
    too_large = diagnose([table(BOX, A100)], model="llama3-405b")
    assert (too_large.cost.training, "llama3-405b" in too_large.list_notes()[-1]) == (None, True)
    untimed = diagnose([VIA_SHM], model="gpt2")
    assert (untimed.cost, "gpt2" in untimed.list_notes("zh")[-1]) == (None, True)
    with pytest.raises(cs.CollsimError, match="gpt2"):
        diagnose([VIA_SHM], model="gpt-2x")


def matrix(count):
    """What nvidia-smi topo -m prints of GPUs with NVLinks to all others."""
    rows = (
        ["GPU" + str(row), *(" X " if row == column else "NV18" for column in range(count))] for row in range(count)
    )
    return "\n".join("\t".join(row) for row in [["", *(f"GPU{column}" for column in range(count))], *rows])


#: Of NCCL before 2.19, whose lines do not say how many ranks are on a node.
OLD_LOG = "\n".join(
    f"n1:{k}:{k} [{k}] NCCL INFO comm 0x5 rank {k} nranks 8 cudaDev {k} busId {k + 1}000 - Init COMPLETE"
    for k in range(8)
)
XML = (
    "<system version='1'>\n<cpu numaid='0'>\n"
    + "<pci class='0x030200'>\n<gpu dev='0'/>\n</pci>\n" * 4
    + "</cpu>\n</system>"
)
COMM = "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks {ranks} nNodes 1 localRanks {ranks} localRank 0"


@pytest.mark.parametrize(
    ("texts", "key", "values"),
    [
        ({"a.log": COMM.format(ranks=4), "b.txt": table(BOX, A100)}, "ranks", ("4", "8")),
        (
            {"a.log": COMM.format(ranks=8), "b.txt": "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X "},
            "gpus",
            ("8", "2"),
        ),
        ({"a.log": OLD_LOG, "b.txt": matrix(4)}, "gpus", ("8", "4")),
        ({"a.log": OLD_LOG, "b.xml": XML}, "gpus", ("8", "4")),
        ({"a.log": OLD_LOG.replace("nranks 8", "nranks 4"), "b.txt": table(BOX, A100)}, "ranks", ("4", "8")),
        ({"a.txt": table(BOX, A100), "b.txt": table(BOX, "NVIDIA H100 80GB HBM3")}, "models", ("A100", "H100")),
    ],
)
def test_pieces_that_cannot_be_of_one_job_are_named_with_a_line_of_each(texts, key, values):
    found = cs.diagnose(texts)
    (contradiction,) = found.contradictions
    assert (contradiction.key, contradiction.values) == (key, values)
    assert [fact.piece for fact in contradiction.facts] == list(texts)
    for language in LANGUAGES:
        assert contradiction.text(language) in found.report(language)
    assert json.loads(found.to_json())["contradictions"][0]["key"] == key
    for name in texts:
        assert cs.diagnose({name: texts[name]}).contradictions == ()


@pytest.mark.parametrize("key", list_studied_cases())
def test_pieces_of_one_job_do_not_contradict(key):
    assert cs.diagnose(list_studied_cases()[key].texts).contradictions == ()


def test_a_job_on_some_of_the_gpus_of_a_node_contradicts_nothing():
    matrix = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV18\tNV18\nGPU1\tNV18\t X \tNV18\nGPU2\tNV18\tNV18\t X "
    assert cs.diagnose({"a.log": COMM.format(ranks=2), "b.txt": matrix}).contradictions == ()


def test_every_cause_and_question_has_its_texts_in_every_language():
    asked = {"stuck_collective", "numa_partitions", "oversubscription", "congestion", "slow_node"}
    for language in LANGUAGES:
        messages = load_messages(language, "diagnosis")
        for key in {cause.key for cause in CAUSES} | asked:
            assert all(messages[f"{key}.{part}"].strip() for part in ("title", "check", "fix")), key
    assert load_messages("en", "diagnosis").keys() == load_messages("zh", "diagnosis").keys()


def test_names_of_hosts_and_addresses_are_replaced_everywhere():
    texts = [*STATED["sockets"], table(PAIR, A100, ("secret-a", "secret-b"), slower=4)]
    texts[0] = (
        texts[0].replace("n1:", "secret-a:").replace("n2:", "secret-b:")
        + "\n"
        + info("Bootstrap : Using eth0:10.1.2.3<0>", "secret-a")
    )
    found = diagnose(texts, anonymize=True)
    written = found.report() + found.report("zh", "html") + found.to_json()
    assert "host1" in written
    assert "secret" not in written
    assert "10.1.2.3" not in written


def test_a_report_in_html_holds_no_markup_of_the_evidence():
    hostile = (
        info("NCCL_P2P_DISABLE set by environment to 1")
        + "\n"
        + info("Channel 00 : 0[0] -> 1[1] via SHM/<script>alert(1)</script>")
    )
    assert "<script>" not in diagnose([hostile]).report("en", "html")
    assert "<script>" not in cs.diagnose({"<script>x": hostile}).report("en", "html")


def test_a_document_has_what_the_object_has():
    found = diagnose(STATED["acs"])
    document = json.loads(found.to_json())
    assert document["verdict"] == "cause"
    assert document["causes"][0]["key"] == "acs"
    assert document["cost"]["possible"] == found.cost.possible
    assert document["causes"][0]["evidence"][0]["line"] == 2


@pytest.mark.parametrize(
    "text",
    ["\0" * 1000, "GPU 0: " * 10_000, "CA '" + "x" * 10**5, "NCCL INFO " * 10_000, "Link 0: <inactive>\n" * 10_000, ""],
)
def test_nonsense_is_named_and_decides_nothing(text):
    found = diagnose([text])
    assert found.verdict == "unknown"
    assert found.causes == ()


def test_dumps_of_a_hang_and_texts_are_read_together(tmp_path):
    program = """
import torch.distributed as dist, torch
dist.init_process_group("nccl")
x = torch.ones(4)
if dist.get_rank() != 2:
    dist.all_reduce(x)
"""
    run = cs.program(program, ranks=4)
    save_dumps(run.flight_recorder(), tmp_path)
    (tmp_path / "nccl.log").write_text(log(VIA_P2P))
    found = cs.diagnose(*sorted(tmp_path.iterdir()))
    assert [cause.key for cause in found.causes] == ["stuck_collective"]
    assert found.causes[0].explanation() == cs.programs.load_hang(*sorted(tmp_path.glob("*[0-9]"))).reason.text("en")
    assert "2" in found.causes[0].explanation("zh")


def test_nothing_and_too_much_are_refused():
    with pytest.raises(cs.CollsimError, match="no evidence"):
        cs.diagnose()
    with pytest.raises(cs.CollsimError, match="at most"):
        cs.diagnose({str(number): "x" for number in range(3_000)})


EXPECTED = {
    "g01-p2p-loc": "p2p_disabled",
    "g02-socket": "sockets",
    "g03-no-peermem": "gdr_module",
    "g04-acs": "acs",
    "g05-nvlink-down": "nvlink_lost",
    "g06-one-qp": "one_queue_pair",
    "g07-mnnvl-split": "split_domain",
    "g08-shm": "small_shm",
    "g09-nvls-off": "nvls_driver",
    "g10-healthy-a100": "healthy",
    "g11-healthy-idle-link": "healthy",
    "g12-healthy-tree-above-nic": "healthy",
    "g13-undecidable-p2p-slow": "undecided",
    "g14-undecidable-node-count": "undecided",
}


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the bundles of evidence are not there")
def test_bundles_of_public_cases_get_their_causes():
    with (GIVEN / "cases.csv").open(encoding="utf-8") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names == list(EXPECTED)
    answers = {}
    for name in names:
        found = cs.diagnose(*sorted((GIVEN / name).iterdir()))
        answers[name] = found.causes[0].key if found.verdict == "cause" else found.verdict
        assert found.verdict != "cause" or len(found.causes) == 1, name
    assert answers == EXPECTED


def test_what_the_job_used_stands_beside_what_it_could_use():
    log = (
        "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
        "h:1:2 [0] NCCL INFO 4 coll channels, 0 collnet channels, 0 nvls channels, 4 p2p channels\n"
        "h:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"
        "h:1:2 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..3}\n"
        "h:1:2 [0] NCCL INFO 4096 Bytes -> Algo 1 proto 0 time 12.3\n"
    )
    used = cs.diagnose({"nccl.log": log}).used
    assert (used.transports, used.channels, used.algorithm, used.protocol) == (("SHM",), 4, "Tree", "Simple")
    assert [fact.line for fact in used.evidence] == [1, 2, 4]
    sample = cs.diagnose(Path(__file__).parents[2] / "examples" / "slow-job")
    assert (sample.used.transports, sample.possible.transports) == (("SHM",), ("P2P",))
    assert sample.possible.algorithm == "NVLS"


def test_a_dump_that_is_cut_is_left_out_and_said(tmp_path):
    ring = "import torch.distributed as dist\nif dist.get_rank() != 2:\n    dist.barrier()\n"
    save_dumps(cs.program(ring, 4).flight_recorder(), tmp_path)
    first, *_ = sorted(tmp_path.iterdir())
    first.write_bytes(first.read_bytes()[:-40])
    diagnosis = cs.diagnose(tmp_path)
    assert [cause.key for cause in diagnosis.causes] == ["stuck_collective"]
    assert [first.name in note for note in diagnosis.list_notes()] == [True]
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(cs.CollsimError, match="truncated"):
        cs.diagnose(tmp_path)
    (tmp_path / "nccl.log").write_text("n1:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n")
    diagnosis = cs.diagnose(tmp_path)
    assert ([cause.key for cause in diagnosis.causes], len(diagnosis.list_notes())) == (["p2p_disabled"], 1)
