"""The story as one file, as the site and the app show it: for a browser without a server."""

import json

from collsim.errors import require_language
from collsim.viz.hosts.bundle import read_bundle
from collsim.viz.hosts.player_page import build_offline_page
from collsim.viz.story.story_document import encode_story

TITLES = {"en": "How GPUs agree on a sum, collsim", "zh": "多个 GPU 怎样求同一个和，collsim"}


def build_story_page(language="en"):
    """The story as one HTML file that loads nothing."""
    title = TITLES[require_language(language)]
    story = json.loads(encode_story())
    return build_offline_page(read_bundle("story_page"), story, title, {"language": language, "theme": None})
