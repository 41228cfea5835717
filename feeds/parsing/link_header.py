"""The Link header (RFC 8288), where WebSub looks for hubs first."""

import re

from common.text import one_line

MAX_LINK_HEADER = 10_000
MAX_HEADER_LINKS = 50

_TARGET = re.compile(r"\s*,?\s*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,"<>]+)?(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"<>]*)))?""")


def links_of_header(value: str) -> list[tuple[str, str]]:
    """Return (lower-case relation, target) pairs. Skips links with `anchor`; stops at errors."""
    found: list[tuple[str, str]] = []
    # On one line, so that runs of white space stay short.
    position, value = 0, one_line(value[:MAX_LINK_HEADER])
    while len(found) < MAX_HEADER_LINKS and (target := _TARGET.match(value, position)):
        parameters: dict[str, str] = {}
        position = target.end()
        while match := _PARAMETER.match(value, position):
            name, quoted, token = match.groups()
            text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            # RFC 8288 §3: the first of duplicate parameters counts.
            parameters.setdefault((name or "").lower(), text)
            position = match.end()
        if "anchor" not in parameters:
            found += [(rel, target.group(1).strip()) for rel in parameters.get("rel", "").lower().split()]
        # Continue after the next comma.
        comma = value.find(",", position)
        position = comma if comma >= 0 else len(value)
    return found[:MAX_HEADER_LINKS]
