"""Markdown made html that is safe to send: CommonMark with tables, without html of its own."""

from functools import lru_cache

from markdown_it import MarkdownIt

from common.html.clean import clean
from common.text import without_controls

# Deeper lists and quotes are no letter's, and cost the parser more than their size.
MOST_NESTING = 20


def html_of(markdown: str, *, base: str) -> str:
    """The html of a text. What it has in tags stays text; addresses become absolute, from `base`.

    It goes through the same cleaning as the html of feeds.
    """
    return clean(_parser().render(without_controls(markdown)), base=base)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": MOST_NESTING, "breaks": False}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
