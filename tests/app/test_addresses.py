"""Addresses that nobody wrote in good faith: whatever they say there is a page, and a sentence for every value that
cannot be used."""

import html
import random
import re

import pytest
from sampling import sample
from test_pages import messages
from test_walk import OURS, opened

from collsim.app.main import PAGES
from collsim.app.pages import compare
from collsim.app.pages.race import lineup
from collsim.app.pages.whatif import run_edits
from collsim.app.scenario.address_parameters import read_words
from collsim.app.scenario.choice import MOMENT, Choice

NONSENSE = [
    "💥",
    "-1",
    "1e400",
    "nan",
    "<script>alert(1)</script>",
    "x" * 400,
    "' OR 1=1",
    "../../etc/passwd",
    "1;2",
    "{}",
]
#: Words that need others beside them: an answer its question, runners one another, a cable its machine, a
#: collective its step, a log its run.
NOT_ALONE = {
    "explore": {"answer", "class"},
    "whatif": {"cable"},
    "train": {"open"},
    "race": {"own", *lineup.RUNNERS},
    "measured": {"machine", "nodes", "p2p", "gdr", "ranks"},
    "class": {"class"},
}
#: The words that every page reads, as it declares them.
WORDS = {
    name: [*(word.name for word in page.words if word.name not in NOT_ALONE.get(name, ())), "lang", "theme"]
    for name, page in PAGES.items()
}


@pytest.mark.parametrize("page", sample(PAGES, 3))
def test_every_value_that_cannot_be_used_gets_a_sentence(page):
    rng = random.Random(page)
    words = rng.sample(WORDS[page], len(WORDS[page]))
    while words:
        some, words = words[:5], words[5:]
        query = {word: rng.choice(NONSENSE) for word in some}
        at = opened(page, query)
        assert not at.exception, query
        said = " ".join(messages(at))
        assert not any(ours in said for ours in OURS), (query, said)
        assert [word for word in some if f"{word}=" not in said] == [], (query, said)


@pytest.mark.parametrize("page", sample([name for name in PAGES if name != "class"], 6))
def test_a_word_that_no_page_knows_is_complained_about_once_and_words_of_the_page_are_not(page):
    said = messages(opened(page, {"machin": "pcie-8gpu", "lang": "en"}))
    assert len(said) == 1, said
    assert "machin=pcie-8gpu, which means nothing on this page" in said[0]
    assert messages(opened(page, {"lang": "en"})) == []


def test_a_rank_that_the_machine_does_not_have_is_told_of_and_not_just_moved():
    said = " ".join(messages(opened("machines", {"machine": "dgx-a100", "a": "99", "b": "3"})))
    assert "a=99 is not a rank; with 8 ranks it is 0 to 7" in said
    zh = " ".join(
        messages(
            opened(
                "explore", {"collective": "broadcast", "network": "switch", "ranks": "4", "root": "99", "lang": "zh"}
            )
        )
    )
    assert "root=99 不是一个 rank；共 4 个 rank 时可取 0 到 3" in zh


def test_runners_without_the_one_before_are_told_of():
    said = " ".join(messages(opened("race", {"runner2": "algorithm:allreduce_tree"})))
    assert "runner1 is not there" in said
    said = " ".join(messages(opened("race", {"runner1": "1;2", "runner2": "algorithm:allreduce_tree", "lang": "zh"})))
    assert "应写成名称:值" in said


def test_a_cable_that_is_not_there_and_an_option_of_another_algorithm_are_told_of():
    place = {"machine": "dgx-a100", "nodes": "1", "nbytes": "1MiB"}
    for cable in ("nope~nothing", "gpu0~gpu1", "gpu0"):
        (said,) = messages(opened("whatif", {**place, "cable": cable, "do": "cut"}))
        assert f"cable={cable}" in said
    assert (
        messages(
            opened("whatif", {**place, "cable": next(iter(run_edits.list_cables(Choice(nodes=1, nbytes="1MiB"))))})
        )
        == []
    )
    (said,) = messages(opened("explore", {**place, "algorithm": "allreduce_ring", "arity": "3", "lang": "en"}))
    assert "arity=3: allreduce_ring has no option arity" in said
    (said,) = messages(opened("explore", {**place, "algorithm": "allreduce_ring", "arity": "3", "lang": "zh"}))
    assert "没有选项 arity" in said


@pytest.mark.parametrize("network", ["fat_tree", "torus"])
def test_a_network_without_its_shape_keeps_the_moment_of_the_address(network):
    at = opened("explore", {"network": network, "nbytes": "1MiB", "t": "5us"})
    assert messages(at) == []
    assert at.query_params["t"] in ("5us", ["5us"])


def test_a_single_size_is_a_comparison_too():
    at = opened("compare", {"sizes": "1MiB", "machine": "dgx-a100", "nodes": "2"})
    assert messages(at) == []


@pytest.mark.parametrize(("text", "seconds"), [("1.5", 1.5), ("2ms", 0.002), ("0", 0.0)])
def test_a_moment_is_a_time_as_everywhere(text, seconds):
    assert read_words(MOMENT, {"t": text}) == ({"t": seconds}, [])


def test_a_comparison_under_way_says_what_is_compared_and_where_the_charts_will_stand(monkeypatch):
    monkeypatch.setattr(compare, "get_latest", lambda *_, **__: None)
    at = opened("compare", {"machine": "dgx-a100", "nodes": "2"})
    assert not at.exception
    said = " ".join(e.proto.body for e in at.get("html"))
    assert "16 ranks" in said
    assert [m.value for m in at.markdown] == ["**Time over size**", "**busbw over size**"]
    assert said.count("height:440px") == 2


@pytest.mark.parametrize(
    ("page", "query", "says"),
    [
        ("compare", {"sizes": "0", "machine": "dgx-a100", "nodes": "2"}, "no place on a logarithmic axis"),
        ("explore", {"nbytes": "0", "break": "cut-1"}, "No cable carries a byte in this run"),
        ("explore", {"nbytes": "0", "break": "cut-1", "lang": "zh"}, "没有链路传输任何字节"),
        ("explore", {"network": "dragonfly", "shape": "50x50x50"}, "16 MiB is the most here"),
        ("explore", {"network": "torus", "shape": "x".join(["2"] * 24), "lang": "zh"}, "这里最多 16 MiB"),
    ],
)
def test_what_has_no_bytes_or_too_much_of_everything_gets_a_sentence_and_a_page(page, query, says):
    at = opened(page, query)
    said = " ".join(messages(at)).replace("\N{NO-BREAK SPACE}", " ")
    assert says in said
    assert not any(ours in said for ours in OURS)
    assert len(at.get("html")) > 5


@pytest.mark.parametrize(
    "options",
    [
        "{nodes: '2097152'}",
        "{nodes: 2, fabric: dragonfly, switches: 4000, cables: 4000}",
        "{nodes: 32, fabric: fat-tree, radix: '1000'}",
    ],
)
def test_a_short_link_does_not_cost_gigabytes(options):
    from collsim.app.scenario import custom_machine, outcome

    letters = custom_machine.pack_text(f"collsim: 1\nmachine: dgx-a100\noptions: {options}\n")
    choice, complaints = outcome.read_choice({"machine": "own", "own": letters})
    assert [c.name for c in complaints] == ["own"]
    assert "is the most here" in str(complaints[0].reason)
    assert choice.machine == "dgx-a100"


def test_a_page_that_runs_itself_again_keeps_what_an_older_address_does_not_say():
    at = opened("explore", {"nbytes": "4MiB"})
    session = at.session_state["session"]
    assert session.choice.nbytes == "4MiB"
    at.query_params.clear()  # as a slow browser names it
    session.keeps_address = True
    at.run()
    assert (session.choice.nbytes, session.keeps_address) == ("4MiB", False)
    assert at.query_params["nbytes"] in ("4MiB", ["4MiB"])
    at.query_params.clear()  # a person
    at.run()
    assert session.choice.nbytes == Choice().nbytes


#: What people write from articles, and what the page answers: the words of the field, in both languages.
GUESSES = {
    "explore": [
        ("collective", "ring-allreduce", "'allreduce'"),
        ("collective", "scatter_reduce", "'reduce_scatter'"),
        ("algorithm", "参数服务器", "'allreduce_parameter_server'"),
        ("algorithm", "gossip", "allreduce_ring"),
        ("machine", "V100", "'dgx-1v'"),
        ("machine", "集群", "'dgx-a100'"),
        ("machine", "服务器", "'pcie-8gpu'"),
        ("network", "infiniband", "'switch'"),
        ("fabric", "胖树", "'fat-tree'"),
        ("dtype", "fp8", "'float8_e4m3'"),
        ("dtype", "混合精度", "'bfloat16'"),
        ("sharing", "max-min", "'fair'"),
        ("world_size", "8", "ranks=8"),
        ("nnodes", "2", "nodes=2"),
        ("size", "1MiB", "nbytes=1MiB"),
        ("colective", "reduce", "collective=reduce"),
        ("backend", "gloo", "Gloo|NCCL"),
    ],
    "train": [
        ("model", "ResNet-50", "'resnet50'"),
        ("model", "gpt-3", "'gpt3-175b'"),
        ("model", "大模型", "'gpt2'"),
        ("parallel", "数据并行", "'ddp'"),
        ("parallel", "ZeRO-3", "FSDP"),
        ("parallel", "FSDP", "FSDP"),
        ("parallel", "模型并行", "GPU"),
        ("strategy", "ddp", "parallel=ddp"),
    ],
    "write": [("start", "ring-allreduce", "'ring'"), ("place", "交换机", "'switch'")],
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", GUESSES)
def test_words_of_articles_are_answered_with_those_of_the_field(page, language):
    words = {name: [] for name, _, _ in GUESSES[page]}
    for name, text, answer in GUESSES[page]:
        words[name].append((text, answer))
    # Each address holds one guess for each of its words.
    while any(words.values()):
        guesses = {name: pairs.pop() for name, pairs in words.items() if pairs}
        at = opened(page, {name: text for name, (text, _) in guesses.items()} | {"lang": language})
        assert not at.exception
        said = html.unescape(" ".join(messages(at)))
        missing = {name: text for name, (text, answer) in guesses.items() if not re.search(answer, said)}
        assert missing == {}, said
