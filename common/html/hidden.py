"""Takes scripts, styles and comments out of html, in one pass."""

import re

_STARTS = re.compile(r"<(?:(script|style)\b|!--)", re.IGNORECASE)
_ENDS = {
    "script": re.compile(r"</script\s*>", re.IGNORECASE),
    "style": re.compile(r"</style\s*>", re.IGNORECASE),
    "": re.compile("-->"),
}


def without_hidden(html: str) -> str:
    """The html without scripts, styles and comments; one that never ends hides nothing.

    A kind of end that was looked for in vain is not looked for again, so that no text costs more than its
    length. A lazy `<!--.*?-->` would read the rest of the text for each `<!--`.
    """
    parts, kept_from, position = [], 0, 0
    endless: set[str] = set()
    while start := _STARTS.search(html, position):
        kind = (start.group(1) or "").lower()
        end = None if kind in endless else _ENDS[kind].search(html, start.end())
        if end is None:
            endless.add(kind)
            position = start.end()
            continue
        parts.append(html[kept_from : start.start()])
        kept_from = position = end.end()
    return "".join([*parts, html[kept_from:]])
