import re

# Hidden unless `open`.
CLOSED = frozenset(("datalist", "dialog"))
# Words in tags that hide something, and what must surround them.
_HIDING = {
    "hidden": re.compile(
        r"hidden(?:(?<=\shidden)(?=[\s=>/])|(?<=ty:hidden)|(?<=ty: hidden)|(?<=llyhidden)|(?<=[ey][-_]hidden)"
        r"|(?=[-_]?visually))"
    ),
    "none": re.compile(r"none(?:(?<=ay:none)|(?<=ay: none)|(?<=ay : none)|(?<=ay :none))"),
    "screen": re.compile(r"screen(?:(?=[-_]?[rR]ead)|(?<=off-screen)|(?<=offscreen))"),
    "invisible": re.compile("invisible(?<=element-invisible)"),
    "popover": re.compile(r"popover(?=[\s=>])"),
    "latex": re.compile("latex(?:(?=-rendered)|(?<=data-latex))"),
} | {word: re.compile(re.escape(word)) for word in ("sr-only", "for-sr", "assistive", "-999", "rect(")}
_LONGEST_TAG = 2_000
# For screen readers. A prefix such as "sm:" limits them to some screens.
_SPOKEN = re.compile(
    r"(?:\A|(?<=[\s_-]))(?:sr[-_]?only|screen[-_]?readers?(?:[-_]?(?:only|text))?"
    r"|visual+y[-_]?hidden|hidden[-_]?visually|show-for-sr|assistive-text|element-invisible|off-?screen"
    r"|(?:a11y|accessib(?:le|ly|ility))[-_]?hidden)(?![a-z:])",
    re.IGNORECASE,
)
_NOT_SPOKEN = re.compile(r"not-sr-only|(?<=:)not-", re.IGNORECASE)
_NO_DISPLAY = re.compile(r"(?:\A|[;\s])display\s*:\s*none")
_INVISIBLE = re.compile(r"(?:\A|[;\s])visibility\s*:\s*(?:hidden|collapse)")
# Hidden by libraries that later move them into view.
_ANIMATED = re.compile(r"animat|\bwow\b|\baos|transition|fade|reveal", re.IGNORECASE)
_OUT_OF_FLOW = re.compile(r"position\s*:\s*(?:absolute|fixed)")
_AWAY = re.compile(r"(?:left|top)\s*:\s*-\d{3}|clip\s*:\s*rect\(|clip-path\s*:\s*inset\(\s*50")
_STARTS = re.compile(r"<(?:(script|style)\b|!--)", re.IGNORECASE)
_ENDS = {
    "script": re.compile(r"</script\s*>", re.IGNORECASE),
    "style": re.compile(r"</style\s*>", re.IGNORECASE),
    "": re.compile("-->"),
}


def without_hidden(html: str) -> str:
    """Remove scripts, styles and comments; one without an end is kept.

    Each missing end is searched once: a lazy `<!--.*?-->` would read the rest for each `<!--`.
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


def hides(html: str) -> bool:
    """Return whether HTML may hide something, before parsing it."""
    return any(
        word in html and any(_is_in_tag(html, match.start()) for match in pattern.finditer(html))
        for word, pattern in _HIDING.items()
    )


def _is_in_tag(html: str, at: int) -> bool:
    first = max(0, at - _LONGEST_TAG)
    return html.rfind("<", first, at) > html.rfind(">", first, at)


def is_hidden(name: str, values: dict[str, str]) -> bool:
    if values.get("hidden", "until-found").lower() != "until-found" or "popover" in values:
        return True
    classes, style = values.get("class", ""), values.get("style", "").lower()
    if name in CLOSED and "open" not in values and "display" not in style:
        return True
    if classes and _SPOKEN.search(classes) and not _NOT_SPOKEN.search(classes):
        return True
    if not style:
        return False
    if _INVISIBLE.search(style) and not _ANIMATED.search(f"{style} {classes}"):
        return True
    if _OUT_OF_FLOW.search(style) and _AWAY.search(style):
        return True
    return _NO_DISPLAY.search(style) is not None
