"""For MkDocs: links to sources, one search index per language, and llms.txt."""

import json
import re
from html import escape
from pathlib import Path

import jieba
from mkdocs.plugins import event_priority

_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:[\w-]+/)*[\w.-]+\.(?:py|js|toml|cff|yaml|sh)\)")
#: How much a page counts in the search, by the start of its path: the glossary more, pages that quote articles less.
_BOOSTS = {"glossary": 3, "zh/glossary": 3, "articles": 0.5, "zh/articles": 0.5}
_BASE = re.compile(r'(<script id="?__config"?[^>]*>\{.*?"base": ")([^"]*)(")')
#: Where words end: `cs.simulate`, `parameter_server` and `ring(8)` are found by each of their words, `2.5` is one word.
#: U+200B stands between Chinese words, which jieba divides when the index is built.
_SEPARATOR = r"[\s\u200b\u3000\-_,:!=\[\]()\"'/、。，．？！；：（）《》“”]+|\.(?!\d)"
#: A row of the glossary: a term, its Chinese words, and what it means.
_ROW = re.compile(r"^\| (?!(?:term|术语) \|)(.+?) \| (.+?) \| (.+?) \|", re.MULTILINE)
#: Chinese words, which stand without spaces.
_HAN = re.compile(r"[\u4e00-\u9fff]+")
#: A line's end within a Chinese paragraph, which a browser would show as a space: after Chinese punctuation, unless the
#: next line begins a block of its own, and between two Chinese characters.
_LINE_END = re.compile(
    r"(?<=[，。；：、！？）”])\n[ \t]*(?=[^\s\-|#>*<\d])|(?<=[\u4e00-\u9fff])\n[ \t]*(?=[\u4e00-\u9fff（“])"
)
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
#: Sections of the English menu, with their pages.
_sections = []
#: What llms.txt (llmstxt.org) says before the pages.
_LLMS = """# collsim

> {description}

- Python: `import collsim as cs`. Every public name has a docstring with an example. Sizes and rates are texts with
  units: `"256MiB"`, `"25GB/s"`, `"1us"`.
- Command line: `collsim COMMAND --help`. `--json` prints one document, and `schemas/COMMAND.json` is its JSON Schema:
  [run](schemas/run.json).
- MCP server: `collsim mcp` (extra `mcp`) with the tools compare, predict, diagnose and explain.
- Times are in seconds, sizes in bytes, rates in bytes per second of one direction.
"""
#: A paragraph that is prose, and its first sentence; a dot inside of code or a number ends none.
_PARAGRAPH = re.compile(r"(?:\A|\n\n)(?=[\w`\"“])([^\n].*?)(?=\n\n|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?:`[^`]*`|[^`])*?[.?!。？！](?=\s|$)")


def on_page_markdown(markdown, page, **_):
    """The page's text, where a link to a file of the repository that is no page (sources, scripts) is only its words:
    the site has no sources. The search also finds a page by its title in the menu, which its heading may lack, and has
    the pages that explain a word before those that only use it."""
    page.meta["tags"] = [separate_words(str(page.title))]
    page.meta["search"] = {"boost": next((boost for path, boost in _BOOSTS.items() if page.url.startswith(path)), 1)}
    page.meta["summary"] = find_first_sentence(markdown)
    if page.url.startswith("zh/"):
        markdown = join_chinese_lines(markdown)
    if page.file.src_uri in ("glossary.md", "glossary.zh.md"):
        markdown = _ROW.sub(
            lambda row: row[0].replace(row[1], f'<span id="{name_row(row[1])}"></span>{row[1]}', 1), markdown
        )
    return _LINK.sub(r"\1", markdown)


def join_chinese_lines(markdown):
    """The text with the lines of a Chinese paragraph joined without a space; code stays as it is."""
    return "".join(part if part.startswith("```") else _LINE_END.sub("", part) for part in _FENCE.split(markdown))


def separate_words(text):
    """The text with U+200B between its Chinese words, as the index has them."""
    return _HAN.sub(lambda han: "\u200b".join(jieba.cut(han[0])), text)


def name_row(term):
    """The anchor of a row of the glossary."""
    return "term-" + re.sub(r"\W+", "-", term).strip("-").lower()


def split_glossary(entries, glossary):
    """Entries of the search with one for each row of the glossary in place of its tables: a term is found as a title,
    and the result is its meaning, not a table of forty others."""
    rows = _ROW.findall(glossary)
    for entry in entries:
        if not entry["location"].startswith("glossary.html"):
            yield entry
        elif "#" in entry["location"]:
            yield entry | {"text": "".join(re.findall(r"<p>.*?</p>", entry["text"]))}
        else:
            yield entry
            for term, chinese, meaning in rows:
                words = separate_words(f"{term} · {chinese}" if term != chinese else term)
                meaning = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)
                meaning = re.sub(r"`([^`]*)`", lambda code: f"<code>{escape(code[1])}</code>", meaning)
                yield {"location": f"glossary.html#{name_row(term)}", "title": words, "text": meaning, "boost": 3}


def find_first_sentence(markdown):
    """The first sentence of a page, without links; empty where it begins with a table or a list."""
    text = re.sub(r"<!--.*?-->|^(```|~~~).*?^\1", "", markdown, flags=re.DOTALL | re.MULTILINE)
    for paragraph in _PARAGRAPH.findall(text):
        words = " ".join(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph).split())
        if match := _SENTENCE.match(words):
            return match[0]
    return ""


def on_nav(nav, config, **_):
    """Keep the English menu for llms.txt: each language has a build of its own."""
    plugin = config.plugins["i18n"]
    if plugin.current_language == plugin.default_language:
        _sections[:] = nav.items
    return nav


def write_llms(config):
    """Write llms.txt: each page of the menu with its address and first sentence."""
    lines = [_LLMS.format(description=config.site_description)]
    for section in _sections:
        lines.append(f"\n## {section.title}\n\n")
        for page in _list_pages(section):
            lines.append(f"- [{page.title}]({page.url}): {page.meta['summary']}".removesuffix(": ") + "\n")
    (Path(config.site_dir) / "llms.txt").write_text("".join(lines), encoding="utf-8")


def _list_pages(item):
    if item.is_page:
        return [item]
    return [page for child in item.children for page in _list_pages(child)]


def on_post_page(output, page, config):
    """The page, whose search reads the index of its language: the theme finds it, and its results, below `base`."""
    language = config.plugins["i18n"].current_language
    if not page.url.startswith(f"{language}/"):
        return output
    return _BASE.sub(lambda match: match[1] + _leave_out_last(match[2]) + match[3], output, count=1)


def _leave_out_last(base):
    """The way from a page to the folder of its language: one folder less than that to the whole site."""
    return base.removesuffix("..").rstrip("/") or "."


@event_priority(-200)  # after `i18n` has put the entries of all languages together
def on_post_build(config):
    """Write llms.txt, and one index into each language's folder, as JSON for a server and as a script for `file://`."""
    site = Path(config.site_dir)
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    index["config"] |= {"lang": ["en"], "separator": _SEPARATOR}
    glossary = Path(config.docs_dir, "glossary.md")
    for language, entries in split_entries(index["docs"], _list_folders(config)).items():
        if glossary.exists():
            translated = glossary.with_suffix(f".{language}.md")
            text = (translated if translated.exists() else glossary).read_text("utf-8")
            entries = list(split_glossary(entries, text))
        folder = site / language / "search"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index | {"docs": entries}, ensure_ascii=False, separators=(",", ":"))
        (folder / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")
    write_llms(config)


def split_entries(entries, folders):
    """Entries of each language by its folder, `""` for the default; their locations are relative to that folder."""
    languages = {folder: [] for folder in ("", *folders)}
    for entry in entries:
        folder, _, rest = entry["location"].partition("/")
        if folder in folders:
            languages[folder].append(entry | {"location": rest})
        else:
            languages[""].append(entry)
    return languages


def _list_folders(config):
    plugin = config.plugins["i18n"]
    return [language for language in plugin.build_languages if language != plugin.default_language]
