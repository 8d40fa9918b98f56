"""The search of the documentation: each language answers with its own pages, from a disk and over http."""

import functools
import os
import re
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from sampling import sample

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.browser

#: What readers look for, and the page that is among the first five answers.
ENGLISH = {
    "simulate": "reference/simulation",
    "parameter server": "tutorial",
    "ring allreduce": "algorithms",
    "cs.compare": "reference/analysis",
    "lower bound": "explained/bounds",
    "nvidia-smi topo": "reference/topologies",
    "busbw": "reference/simulation",
    "bucket": "training",
    "fsdp": "reference/training",
    "pipeline parallelism": "explained/parallelism",
    "nvlink": "machines",
    "oversubscription": "machines",
    "deadlock hang": "hangs",
    "moodle": "teaching",
    "synthesize": "synthesis",
    "chakra": "formats",
    "load_topology": "reference/topologies",
    "accuracy": "accuracy",
    "slurm cluster": "howto/cluster",
    "my job is slow": "howto/slow-job",
    # Words as articles write them.
    "env://": "glossary",
    "--dist-backend": "glossary",
    "HCA": "glossary",
    "RPC": "glossary",
    "completion queue": "glossary",
    "optimizer states": "glossary",
    "head-of-line blocking": "glossary",
}
CHINESE = {
    "参数服务器": "tutorial",
    "下界": "explained/bounds",
    "训练脚本": "howto/training-script",
    "集合通信": "hangs",
    "作业很慢": "howto/slow-job",
    "准确度": "accuracy",
    "网卡": "machines",
    "两个引擎": "explained/engines",
    "挂起": "hangs",
    "教师指南": "teaching",
    "算法": "algorithms",
    "拓扑": "formats",
    "批量实验": "sweeps",
    "流水线并行": "explained/parallelism",
    "合成": "synthesis",
    "梯度": "explained/parallelism",
    "先买什么": "howto/buy-first",
    "在集群上": "howto/cluster",
    "ring": "algorithms",
    "cs.simulate": "reference/simulation",
    # Words as articles write them; those of the third have a page that links to their meaning.
    "env://": "glossary",
    "--dist-backend": "glossary",
    "HCA": "glossary",
    "RPC": "glossary",
    "内存区域": "glossary",
    "拥塞扩散": "glossary",
    "多GPU集群": "articles/3",
    "GPU驱动": "articles/3",
}


def build(config, out):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(config), "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole documentation."""
    return build(ROOT / "mkdocs.yml", tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """Two pages in two languages, built as the documentation is."""
    folder = tmp_path_factory.mktemp("small")
    docs = folder / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "index.md").write_text("# First\n\nTo simulate a parameter server.\n")
    (docs / "index.zh.md").write_text("# 首页\n\n模拟一个参数服务器：simulate。\n")
    (docs / "deep" / "page.md").write_text("# Bounds\n\nWhat no schedule beats.\n")
    (docs / "deep" / "page.zh.md").write_text("# 下界\n\n任何调度都不能更快。\n")
    (docs / "deep" / "english.md").write_text("# Design\n\nThis page is in English only.\n")
    (docs / "deep" / "words.md").write_text("# Words\n\n`env://` and `--dist-backend`.\n")
    (docs / "deep" / "words.zh.md").write_text("# 词\n\n`env://`、`--dist-backend`、多 GPU 集群。\n")
    rows = "| memory region, lkey | 内存区域、密钥 | keys of memory | |\n| dataset, concatenation | 语料 | what a rank reads | |\n"
    (docs / "glossary.md").write_text(
        f"# Glossary\n\n## More\n\n| term | 中文 | means | not |\n|---|---|---|---|\n{rows}"
    )
    (docs / "assets").symlink_to(ROOT / "docs" / "assets")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    config["nav"] = [
        {"Start": "index.md"},
        {"Engines": "deep/page.md"},
        {"How it is built": "deep/english.md"},
        {"Words": "deep/words.md"},
        {"Glossary": "glossary.md"},
    ]
    config["plugins"] = [plugin for plugin in config["plugins"] if "mkdocstrings" not in plugin]
    config |= {"docs_dir": str(docs), "hooks": [str(ROOT / "docs" / "site_hooks.py")]}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, allow_unicode=True))
    return build(folder / "mkdocs.yml", folder / "site")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""


@pytest.fixture(params=sample(["file", "http"], 1))
def address(request):
    """A function from the folder of a site to its address."""
    servers = []

    def serve(folder):
        if request.param == "file":
            return folder.as_uri()
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder)))
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


#: Whether the line above the results says how many there are, or that there are none.
ANSWERED = "/\\d|无|没有|No/.test(document.querySelector('.md-search-result__meta').textContent)"


def search(tab, query):
    """Pages that the open page's search lists, best first, each once; the address ends as in the result's link."""
    box = tab.locator(".md-search__input")
    if not tab.locator("#__search").is_checked():
        tab.locator("label[for=__search]").first.dispatch_event("click")
    box.focus()
    box.fill("")
    tab.keyboard.press("End")  # the theme listens to keys: an empty search clears the list and the line above it
    tab.wait_for_function(f"() => !document.querySelector('.md-search-result__item') && !{ANSWERED}")
    tab.keyboard.insert_text(query)
    tab.keyboard.press("End")
    tab.wait_for_function(f"() => {ANSWERED}")
    links = tab.eval_on_selector_all(".md-search-result__item > a", "links => links.map((link) => link.href)")
    return list(dict.fromkeys(re.sub(r"[?#].*", "", link) for link in links))


def open_page(tab, address):
    tab.goto(address)
    tab.wait_for_selector(".md-search__input", state="attached")
    tab.wait_for_load_state("networkidle")  # a query that comes before the index finds nothing


def test_each_language_finds_its_own_pages(tab, small_site, address):
    root = address(small_site)
    for page in ("index.html", "deep/page.html"):
        open_page(tab, f"{root}/{page}")
        assert search(tab, "simulate") == [f"{root}/index.html"]
        assert search(tab, "参数服务器") == []
        open_page(tab, f"{root}/zh/{page}")
        assert search(tab, "simulate") == [f"{root}/zh/index.html"]
        assert search(tab, "参数服务器") == [f"{root}/zh/index.html"]
        assert search(tab, "两个引擎") == [f"{root}/zh/deep/page.html"]  # its title in the menu
        assert search(tab, "English") == [f"{root}/zh/deep/english.html"]  # as it has no Chinese
    tab.locator(".md-search-result__item > a").first.click()
    assert tab.locator("h1").inner_text().startswith("Design")


@pytest.mark.parametrize("folder", ["", "zh/"], ids=["en", "zh"])
def test_words_with_signs_and_of_two_scripts_are_found(tab, small_site, address, folder):
    root = address(small_site)
    open_page(tab, f"{root}/{folder}index.html")
    words = f"{root}/{folder}deep/words.html"
    assert search(tab, "env://") == search(tab, "--dist-backend") == [words]
    assert search(tab, "-backend words") == []  # one sign still leaves a word out
    assert search(tab, "多GPU集群") == ([words] if folder else [])


@pytest.mark.parametrize(
    ("folder", "queries"), [("", ["lkey", "memory regions"]), ("zh/", ["lkey", "内存区域"])], ids=["en", "zh"]
)
def test_a_row_of_the_glossary_is_a_result_of_its_own(tab, small_site, address, folder, queries):
    root = address(small_site)
    for query in queries:
        open_page(tab, f"{root}/{folder}index.html")
        assert search(tab, query) == [f"{root}/{folder}glossary.html"]
        row = tab.locator(".md-search-result__item > a[href*='#term-']").first
        assert "keys of memory" in row.inner_text()
        row.click()
        tab.wait_for_url("**#term-*")
        target = tab.url.partition("#")[2]
        assert tab.locator(f"tr:has(#{target})").inner_text().startswith("memory region")


@pytest.mark.parametrize("folder", ["", "zh/"], ids=["en", "zh"])
def test_a_word_meets_its_other_forms(tab, small_site, address, folder):
    root = address(small_site)
    open_page(tab, f"{root}/{folder}index.html")
    for query in ("datasets", "concatenate"):
        assert search(tab, query) == [f"{root}/{folder}glossary.html"]


def test_a_misspelled_word_meets_the_one_that_is_meant(tab, small_site, address):
    root = address(small_site)
    open_page(tab, f"{root}/zh/index.html")
    for query in ("dataseet", "concatination", "内村"):
        search(tab, query)
        tab.wait_for_selector(".md-search-result__item > a[href*='#term-']")
    assert search(tab, "quuxquux") == []


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "queries"), [("", ENGLISH), ("zh/", CHINESE)], ids=["en", "zh"])
def test_queries_find_the_page_that_answers_them(tab, site, address, folder, queries):
    assert len(queries) >= 20
    root = address(site)
    open_page(tab, f"{root}/{folder}index.html")
    for query, page in queries.items():
        results = search(tab, query)
        assert f"{root}/{folder}{page}.html" in results[:5], (query, results)
        others = [result for result in results if result.startswith(f"{root}/zh/") is not bool(folder)]
        assert others == [], query
