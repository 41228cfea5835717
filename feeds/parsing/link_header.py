"""The Link header of an HTTP answer (RFC 8288): where WebSub looks for hubs first."""

import re

from common.text import one_line

MAX_LINK_HEADER = 10_000
MAX_HEADER_LINKS = 50

_TARGET = re.compile(r"\s*,?\s*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,"<>]+)?(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"<>]*)))?""")


def links_of_header(value: str) -> list[tuple[str, str]]:
    """(relation in lower case, target as it stands) for every relation of every link, in order.

    Links about another resource (`anchor`) are left out. The reading ends where it fails.
    """
    found: list[tuple[str, str]] = []
    # On one line: no run of white space is long enough to be tried again and again.
    position, value = 0, one_line(value[:MAX_LINK_HEADER])
    while len(found) < MAX_HEADER_LINKS and (target := _TARGET.match(value, position)):
        parameters: dict[str, str] = {}
        position = target.end()
        while match := _PARAMETER.match(value, position):
            name, quoted, token = match.groups()
            text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            # §3: of a parameter that is there twice, the first counts.
            parameters.setdefault((name or "").lower(), text)
            position = match.end()
        if "anchor" not in parameters:
            found += [(rel, target.group(1).strip()) for rel in parameters.get("rel", "").lower().split()]
        # The next link begins after the comma, whatever stands before it.
        comma = value.find(",", position)
        position = comma if comma >= 0 else len(value)
    return found[:MAX_HEADER_LINKS]
