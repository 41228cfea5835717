"""Writes a letter's styles into its elements: several mail programs drop `<style>`."""

from functools import lru_cache

import css_inline


def inline(html: str) -> str:
    """The html with `<style>` inlined, except those marked `data-css-inline="keep"`. Fetches nothing.

    css-inline walks the tree recursively, and 20,000 nested elements end the whole process: what comes from
    outside has to have gone through `common.balancing`.
    """
    return _inliner().inline(html)


@lru_cache(maxsize=1)
def _inliner() -> css_inline.CSSInliner:
    return css_inline.CSSInliner(load_remote_stylesheets=False)
