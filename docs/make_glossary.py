"""Write docs/glossary.md and docs/glossary.zh.md from the rows of collsim/locale/glossary.csv and the Chinese meanings
in collsim/locale/zh/glossary.csv: `make docs`. A test compares them."""

import re
from itertools import groupby
from pathlib import Path

from collsim.locale.glossary import load_chinese_meanings
from collsim.locale.name_families import list_families
from collsim.package_data import read_csv

PAGE = Path(__file__).with_name("glossary.md")
CHINESE_PAGE = PAGE.with_suffix(".zh.md")
TABLE = Path(__file__).parents[1] / "collsim" / "locale" / "glossary.csv"
HEAD = """# Glossary

Every noun has one meaning in Python, on the command line, in the app, in the documentation and in the notebooks. The
Chinese words are those that Chinese readers of NCCL and PyTorch know. `rank`, `chunk` and the names of collectives and
algorithms stay English, as in code and logs. The last column lists words that are not used for this meaning.
`collsim glossary WORD` and `cs.glossary("WORD")` look a word up; `--lang zh` answers in Chinese. The rows are in
`collsim/locale/glossary.csv`, their Chinese meanings in `collsim/locale/zh/glossary.csv`; a test
(`tests/test_glossary.py`) checks the texts.
"""
CHINESE_HEAD = """# 术语表

每个名词在 Python、命令行、网页应用、文档和 notebook 里只有一个意思。中文词采用读 NCCL 和 PyTorch
资料的中文读者熟悉的说法。`rank`、`chunk` 以及集合通信和算法的名字保留英文，与代码和日志一致。
最后一列是不用于这个意思的词。查一个词用 `collsim glossary WORD` 或 `cs.glossary("WORD")`，加 `--lang zh`
得到中文。各行在 `collsim/locale/glossary.csv`，中文含义在 `collsim/locale/zh/glossary.csv`；
测试（`tests/test_glossary.py`）检查这些文字。
"""
#: What a section begins with.
LEADS = {"Words of articles": "Terms of articles about NCCL, PyTorch and ring allreduce, and where collsim shows them."}
CHINESE_LEADS = {"Words of articles": "关于 NCCL、PyTorch 和环形 allreduce 的文章里的词，以及 collsim 在哪里展示它们。"}
#: The last section: names that have no row.
FAMILIES = """## Families of names

Functions, constants, variables and options that their form explains. A name with a row above is not among them.
They are in `collsim/locale/name_families.toml`.
"""
CHINESE_FAMILIES = """<a id="families-of-names"></a>

## 成族的名字

从形式就能认出的函数、常量、变量和选项；上面单独列出的名字不在其中。它们在
`collsim/locale/name_families.toml` 里。
"""
#: The Chinese title of each section.
TITLES = {
    "Collectives": "集合通信",
    "A schedule": "调度",
    "A machine": "机器",
    "A run": "一次运行",
    "A step of training": "训练的一步",
    "Schedules that are found": "求出来的调度",
    "Words of articles": "文章里的词",
    "Words of NCCL, MPI and Gloo": "NCCL、MPI 和 Gloo 的词",
    "Words of large models": "大模型的词",
    "Words of parameter servers": "参数服务器的词",
    "Words of clusters": "集群的词",
    "Words of networks": "网络的词",
    "Words of algorithms": "算法的词",
    "Words of PyTorch and of launchers": "PyTorch 和启动器的词",
    "Words of measurement": "测量的词",
    "Words of GPUs and nodes": "GPU 和节点的词",
    "Words of training": "训练的词",
    "Words of other libraries": "其他库的词",
    "Words of parallel programs": "并行程序的词",
    "Signals, models, clouds, optimizers and tools": "信号、模型、云、优化器和工具",
    "Abbreviations in full": "缩写的全称",
    "Plain words": "普通词",
}


def write_page() -> str:
    """The English page: a table for each section, in the order of the rows."""
    parts = [HEAD]
    for section, rows in _read_sections():
        lead = [LEADS[section]] if section in LEADS else []
        table = _write_table("| term | 中文 | means | not |", rows, {row["term"]: row["meaning"] for row in rows})
        parts.append("\n\n".join([f"## {section}", *lead, table]) + "\n")
    table = _write_table("| term | 中文 | means | not |", _list_family_rows(), {})
    return "\n".join([*parts, FAMILIES, f"{table}\n"])


def write_chinese_page() -> str:
    """The Chinese page: the same tables, whose sections keep the English anchors."""
    parts, meanings = [CHINESE_HEAD], load_chinese_meanings()
    for section, rows in _read_sections():
        lead = [CHINESE_LEADS[section]] if section in CHINESE_LEADS else []
        table = _write_table("| 术语 | 中文 | 含义 | 不用 |", rows, meanings)
        anchor = re.sub(r"[^\w ]", "", section).lower().replace(" ", "-")
        parts.append("\n\n".join([f'<a id="{anchor}"></a>', f"## {TITLES[section]}", *lead, table]) + "\n")
    family_meanings = {family.form.replace("*", r"\*"): family.zh for family in list_families()}
    table = _write_table("| 术语 | 中文 | 含义 | 不用 |", _list_family_rows(), family_meanings)
    return "\n".join([*parts, CHINESE_FAMILIES, f"{table}\n"])


def _list_family_rows() -> list[dict[str, str]]:
    shown = [(family, family.form.replace("*", r"\*")) for family in list_families()]  # no emphasis in Markdown
    return [{"term": form, "chinese": form, "meaning": family.en, "refused": ""} for family, form in shown]


def _read_sections() -> list[tuple[str, list[dict[str, str]]]]:
    rows = read_csv(str(TABLE), TABLE.name)
    return [(section, list(rows_of_section)) for section, rows_of_section in groupby(rows, lambda row: row["section"])]


def _write_table(head: str, rows: list[dict[str, str]], meanings: dict[str, str]) -> str:
    lines = [head, "|---|---|---|---|"]
    for row in rows:
        meaning = meanings.get(row["term"], row["meaning"])
        lines.append(f"| {row['term']} | {row['chinese']} | {meaning} | {row['refused']} |".replace("  |", " |"))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    CHINESE_PAGE.write_text(write_chinese_page(), encoding="utf-8")
