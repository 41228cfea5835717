"""Discord's markup as HTML, as far as our bot uses it. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape

from demo.content.post import ZONE

_TOKEN = re.compile(
    r"\\(?P<plain>[^0-9A-Za-z\s])"
    r"|\[(?P<words>(?:\\.|[^\]\\])*)\]\(<?(?P<url>https?://[^\s<>)]+)>?\)"
    r"|<(?P<alone>https?://[^\s<>]+)>|(?P<bare>https?://[^\s<>]+)"
    r"|<\#(?P<channel>\d+)>|<@&?(?P<who>\d+)>|<t:(?P<time>\d+(?::\w)?)>"
    r"|`(?P<code>[^`]+)`|(?P<bold>\*\*)"
)
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
LONGEST_ADDRESS = 60
LATEST_TIME = 2**35
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def drawn(text: str, *, channels: Mapping[str, str], people: Mapping[str, str], now: datetime) -> str:
    lines = []
    for line in text.split("\n"):
        quoted = line.removeprefix("> ")
        inner = _line(quoted, channels, people, now)
        lines.append(f"<blockquote>{inner}</blockquote>" if quoted != line else f"{inner}\n")
    return "".join(lines).rstrip("\n")


def _line(text: str, channels: Mapping[str, str], people: Mapping[str, str], now: datetime) -> str:
    parts, end, is_bold = [], 0, False
    for found in _TOKEN.finditer(text):
        parts.append(escape(text[end : found.start()]))
        end = found.end()
        said = found[found.lastgroup or 0]
        match found.lastgroup:
            case "bold":
                is_bold = not is_bold
                parts.append("<strong>" if is_bold else "</strong>")
            case "url":
                parts.append(_link(said, _ESCAPED.sub(r"\1", found["words"])))
            case "alone" | "bare":
                parts.append(_link(said, said))
            case "channel":
                parts.append(f'<span class="name">#{escape(channels.get(said, "unknown"))}</span>')
            case "who":
                parts.append(f'<span class="name">@{escape(people.get(said, said))}</span>')
            case "time" if int(said.partition(":")[0]) < LATEST_TIME:
                seconds, _, style = said.partition(":")
                moment = datetime.fromtimestamp(int(seconds), UTC)
                words = f"{moment.astimezone(ZONE):%H:%M}" if style == "t" else ago(moment, now)
                parts.append(f'<time datetime="{moment.isoformat()}">{words}</time>')
            case "code":
                parts.append(f"<code>{escape(said)}</code>")
            case _:
                parts.append(escape(said))
    parts.append(escape(text[end:]))
    return "".join([*parts, "</strong>" if is_bold else ""])


def _link(url: str, words: str) -> str:
    short = words if len(words) <= LONGEST_ADDRESS or words != url else f"{words[:LONGEST_ADDRESS]}…"
    return f'<a href="{escape(url)}">{escape(short)}</a>'


def ago(moment: datetime, now: datetime) -> str:
    """Format as “in 5 minutes” or “2 hours ago”."""
    away = int((moment - now).total_seconds())
    size, unit = next((one for one in UNITS if abs(away) >= one[0]), UNITS[-1])
    count = abs(away) // size
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"in {words}" if away > 0 else f"{words} ago"
