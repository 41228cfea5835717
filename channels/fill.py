"""Fills the holes of a form letter with one recipient's values. Pure.

One pass over the tokens: what a value contains is never looked at again.
"""

import html
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from common.text import one_line, without_controls

# What `one_line` would leave as it is; nearly all values are so.
_PLAIN = re.compile("[!-~]*")


def fill_html(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    """`placeholders`: field → token; `values`: field → text, escaped. A field without one is empty."""
    return _fill(text, placeholders, values, written_html)


def fill_text(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    """As `fill_html`, for the text part; a value stays on its line."""
    return _fill(text, placeholders, values, written_text)


def written_html(value: str) -> str:
    """A value as html has it."""
    return html.escape(without_controls(value))


def written_text(value: str) -> str:
    """A value as a text has it: on one line."""
    return value if _PLAIN.fullmatch(value) else one_line(value)


def fill_header(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    """As `fill_html`, for a header's text; the whole of it is one line."""
    return one_line(_fill(text, placeholders, values, one_line))


def _fill(
    text: str, placeholders: Mapping[str, str], values: Mapping[str, str], written: Callable[[str], str]
) -> str:
    if not placeholders:
        return text
    fields = {token: field for field, token in placeholders.items()}
    return _tokens(tuple(fields)).sub(lambda match: written(values.get(fields[match[0]], "")), text)


@lru_cache(maxsize=64)
def _tokens(tokens: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))
