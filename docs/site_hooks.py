"""For MkDocs: a link to a file of the repository that is no page (sources, scripts) is its name on the site, which has
no sources beside it."""

import re

_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:[\w-]+/)*[\w.-]+\.(?:py|js|toml|cff|yaml|sh)\)")


def on_page_markdown(markdown, **_):
    """The page's text, each such link only its words."""
    return _LINK.sub(r"\1", markdown)
