"""Rewrites elements that the cleaner would drop. The result must be cleaned."""

import re
from html import escape

from common.html.balance import ANY_TAG, RAW_VALUES
from common.html.images import DRAWS

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
_VALUES = rf"(?P<values>{RAW_VALUES})"
_DRAWING = re.compile(rf"<(?P<end>/?)svg\b{_VALUES}>", re.IGNORECASE)
_DRAWING_NAMES = tuple(
    re.compile(rf"<{name}\b[^<>]*>([^<]*[^<\s][^<]*)</{name}", re.IGNORECASE) for name in ("title", "desc")
)
_TEX = re.compile(rf"<script\b{_VALUES}>", re.IGNORECASE)
_TEX_KIND = re.compile(r"\bmath/(tex|mml|asciimath)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script", re.IGNORECASE)
_PREFIX = re.compile(r"<(\w{1,20}):math\b", re.IGNORECASE)
_AMP = re.compile(r"<(/?)amp-(img|anim|video|audio|iframe)\b", re.IGNORECASE)
_FILM = re.compile(r"<(?:amp|lite)-youtube\b([^<>]*)>", re.IGNORECASE)
_FILM_KEY = re.compile(r"""\bvideo-?id\s*=\s*["']?([\w-]{11})(?![\w-])""", re.IGNORECASE)
_CUSTOM = re.compile(rf"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*-[a-z0-9-]*){_VALUES}>", re.IGNORECASE)
_ADDRESS = re.compile(
    r"""(?:\A|[\s-])(?:url|href|src|link)\s*=\s*["']?((?:https?:)?//[^"'\s<>]+)""", re.IGNORECASE
)
_KEY = re.compile(
    r"""\b(tweetid|shortcode|gistid|(?:vimeo|dailymotion)\b.{0,200}?\bvideo-?id)\s*=\s*["']?([\w-]+)""",
    re.IGNORECASE,
)
_PAGES = {
    "t": "https://x.com/i/status/",
    "s": "https://www.instagram.com/p/",
    "g": "https://gist.github.com/",
    "v": "https://vimeo.com/",
    "d": "https://www.dailymotion.com/video/",
}
# Named by `visible`, or without words for readers.
_NOT_CARDS = re.compile(
    r"mjx-|model-viewer|(?:amp-)?(?:sticky-|auto-)?(?:ads?|pixel|analytics|embed)\Z", re.IGNORECASE
)
_SCRIPT = re.compile(
    r"""<script\b[^<>]*\ssrc\s*=\s*["']?((?:https?:)?//(?:gist\.github\.com|asciinema\.org/a|gitlab\.com)/"""
    r"""[^"'\s<>?]+?)\.js\b[^<>]*>\s*</script>""",
    re.IGNORECASE,
)
MAX_FORM_NAME = 300


def rewritten(html: str) -> str:
    """Convert scripted TeX to MathML, AMP elements to plain ones, each svg to its name."""
    lowered = html.lower()
    if "math/" in lowered:
        html = _with_scripted_formulas(html)
    if ":math" in lowered:
        for prefix in sorted(set(_PREFIX.findall(html)))[:3]:
            html = re.sub(rf"<(/?){prefix}:(?=[a-z])", r"<\1", html, flags=re.IGNORECASE)
    if "<amp-" in lowered or "<lite-" in lowered:
        html = _FILM.sub(_film, html)
        html = _AMP.sub(lambda tag: f"<{tag[1]}{'img' if tag[2].lower() == 'anim' else tag[2]}", html)
    if "-" in html:
        html = _with_cards(html)
    if ".js" in lowered:
        html = _SCRIPT.sub(_card_of_script, html)
    return _with_named_drawings(html) if "<svg" in lowered else html


def _with_scripted_formulas(html: str) -> str:
    """MathJax 2 keeps TeX in scripts: `<script type="math/tex; mode=display">`."""
    parts, position = [], 0
    for tag in _TEX.finditer(html):
        kind = _TEX_KIND.search(tag["values"])
        if kind is None or tag.start() < position:
            continue
        end = _SCRIPT_END.search(html, tag.end())
        if end is None:
            break
        source = html[tag.end() : end.start()]
        if kind[1].lower() != "mml":
            encoding = "application/x-tex" if kind[1].lower() == "tex" else "text/x-asciimath"
            display = "block" if "display" in tag["values"] else "inline"
            source = (
                f'<math display="{display}"><annotation encoding="{encoding}">'
                f"{escape(source)}</annotation></math>"
            )
        parts += [html[position : tag.start()], source]
        close = html.find(">", end.end())
        position = close + 1 if close >= 0 else len(html)
    return "".join([*parts, html[position:]])


def _film(tag: re.Match[str]) -> str:
    key = _FILM_KEY.search(tag[1])
    return f'<iframe src="https://www.youtube.com/embed/{key[1]}"></iframe>' if key else tag[0]


def _with_cards(html: str) -> str:
    """Keep addresses of custom elements and what hides them; `visible` links those without content."""
    addresses = {}
    for tag in _CUSTOM.finditer(html):
        key, address = _KEY.search(tag["name"] + tag["values"]), _ADDRESS.search(tag["values"])
        if not tag["end"] and (key or address or hides(tag[0])) and not _NOT_CARDS.match(tag["name"]):
            addresses[tag.start()] = _PAGES[key[1][0].lower()] + key[2] if key else address and address[1]
    names = {html[at + 1 : at + 50].partition(" ")[0].lower() for at in addresses}

    def replaced(tag: re.Match[str]) -> str:
        if tag["name"].lower() not in names:
            return tag[0]
        if tag["end"]:
            return "</span>"
        address = addresses.get(tag.start(), "")
        return f'<span data-url="{escape(address or "")}"{tag["values"]}>'

    return _CUSTOM.sub(replaced, html) if names else html


def _card_of_script(tag: re.Match[str]) -> str:
    is_linked = re.search(re.escape(tag[1]) + r"(?![\w.])", tag.string)
    return "" if is_linked else f'<span data-url="{tag[1]}"></span>'


def _with_named_drawings(html: str) -> str:
    parts: list[str] = []
    position = depth = 0
    outer: re.Match[str] | None = None
    for tag in _DRAWING.finditer(html):
        if outer is None and not tag["end"]:
            parts.append(html[position : tag.start()])
            outer, position = tag, tag.start()
        if outer is None:
            continue
        depth += -1 if tag["end"] else not tag["values"].endswith("/")
        if depth == 0:
            parts.append(_named(outer["values"].rstrip("/"), html[outer.end() : tag.start()]))
            outer, position = None, tag.end()
    return "".join([*parts, html[position:]])


def _named(values: str, inside: str) -> str:
    name = next((match[1] for one in _DRAWING_NAMES if (match := one.search(inside))), "")
    lowered = inside.lower()
    if not name and ("<text" in lowered or "<foreignobject" in lowered):
        # A long list of labels is useless without the chart.
        words = " ".join(ANY_TAG.sub(" ", without_hidden(inside)).split())
        name = words if len(words) <= MAX_FORM_NAME else ""
    is_icon = not name and ("<use" in lowered or not DRAWS.search(inside))
    shown = name[:MAX_FORM_NAME].replace('"', "&quot;").replace("<", "&lt;")
    return f'<svg {"role=none " if is_icon else ""}{values} data-name="{shown}"></svg>'


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
