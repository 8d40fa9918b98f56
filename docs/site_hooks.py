"""For MkDocs: links to sources, and one search index per language."""

import json
import re
from pathlib import Path

from mkdocs.plugins import event_priority

_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:[\w-]+/)*[\w.-]+\.(?:py|js|toml|cff|yaml|sh)\)")
_BASE = re.compile(r'(<script id="?__config"?[^>]*>\{.*?"base": ")([^"]*)(")')
#: Where words end: `cs.simulate`, `parameter_server` and `ring(8)` are found by each of their words, `2.5` is one word.
#: U+200B stands between Chinese words, which jieba divides when the index is built.
_SEPARATOR = r"[\s\u200b\u3000\-_,:!=\[\]()\"'/、。，．？！；：（）《》“”]+|\.(?!\d)"


def on_page_markdown(markdown, page, **_):
    """The page's text, where a link to a file of the repository that is no page (sources, scripts) is only its words:
    the site has no sources. The search also finds a page by its title in the menu, which its heading may lack."""
    page.meta["tags"] = [str(page.title)]
    return _LINK.sub(r"\1", markdown)


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
    """Write one index into each language's folder, as JSON for a server and as a script for `file://`."""
    site = Path(config.site_dir)
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    index["config"] |= {"lang": ["en"], "separator": _SEPARATOR}
    for language, entries in split_entries(index["docs"], _list_folders(config)).items():
        folder = site / language / "search"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index | {"docs": entries}, ensure_ascii=False, separators=(",", ":"))
        (folder / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")


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
