import re
from datetime import datetime
from html import escape

from demo.content.post import ZONE
from demo.discord.places import DISCORD
from demo.fediverse import FEDIVERSE
from demo.mastodon import ACCOUNT, MASTODON
from demo.timeline import PICTURES, Timeline, TimelinePost

SERVICE_NAMES = {MASTODON: "Mastodon", DISCORD: "Discord", FEDIVERSE: "The Fediverse"}
PLACE = f"@{ACCOUNT}"
POLICY = (
    "default-src 'none'; img-src 'self' data: http://127.0.0.1:*; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; form-action 'none'; base-uri 'none'"
)
LINK_PATTERN = re.compile(r"https?://[^\s<>]+|#\w+")
LONGEST_LINK = 40
TIMELINE_STYLE = """
:root { color-scheme: light dark; --ink: #22282c; --soft: #5f6a73; --paper: #f4f3ef; --card: #fff;
  --line: #e2ded4; --link: #1f5f78; --face: #1f5f78 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e4e1; --soft: #9aa4ab; --paper: #16191b; --card: #1f2427; --line: #343a3e;
    --link: #7fbcd3; --face: #2f7a97 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 40rem; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { margin-bottom: 1.5rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 }
header p { color: var(--soft); margin: .4rem 0 0 }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem }
a { color: var(--link) }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem;
  margin-bottom: 1rem }
.by { display: flex; gap: .75rem; align-items: center; margin-bottom: .6rem }
.by b { display: block; line-height: 1.3 }
.by div span, time { color: var(--soft); font-size: .875rem }
.by time { margin-left: auto; white-space: nowrap }
.face { flex: none; display: grid; place-items: center; width: 2.75rem; height: 2.75rem; border-radius: 8px;
  background: var(--face); color: #fff; font-weight: 600 }
.text { white-space: pre-line; margin: 0 0 .75rem }
.text:last-child { margin-bottom: 0 }
img { display: block; width: 100%; height: auto; border-radius: 8px }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-top: .75rem }
form b { flex: 1 }
input { flex: 1 1 10rem; min-width: 0 }
button, input { font: inherit; padding: .3rem .75rem; border: 1px solid var(--soft); border-radius: 8px;
  background: var(--card); color: var(--ink) }
form:first-child { margin: 0 }
.html, img { margin-bottom: .75rem }
img:last-child { margin-bottom: 0 }
.nothing { color: var(--soft); text-align: center; padding: 3rem 0 }
"""
# Adds new posts to an open page without scrolling.
FRESH = """
setInterval(async () => {
  if (document.hidden || document.querySelector("input:focus")) return
  try {
    const text = await (await fetch(location.href)).text()
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main")
    const main = document.querySelector("main")
    if (fresh.innerHTML !== main.innerHTML) main.replaceWith(fresh)
  } catch {}
}, 3000)
"""
TIMELINE_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><header><h1>{title}</h1><p>{words}</p><nav>{links}</nav></header>
<main class="{service}">{main}</main>{script}</body></html>
"""


def page(timeline: Timeline, bridge_url: str) -> str:
    """Self-refreshing, newest first."""
    posts = "\n".join(_status(post, timeline) for post in timeline.posts(MASTODON))
    return frame(
        f"{PLACE} on Mastodon",
        "This is not Mastodon. The demo serves this page, and a bridge posts to it.",
        posts or '<p class="nothing">Nothing posted yet.</p>',
        links=to_services(MASTODON, bridge_url, "The bridge in the admin"),
        service=MASTODON,
    )


def to_services(without: str = "", admin_url: str = "", words: str = "") -> list[tuple[str, str]]:
    links = [(f"/{service}/", name) for service, name in SERVICE_NAMES.items() if service != without]
    return [(admin_url, words), *links] if admin_url else links


def contents() -> str:
    return frame("Where the demo's posts appear", "The demo serves all of these.", "", links=to_services())


def missing_page() -> str:
    return frame("Page not found", "It may have been deleted.", "", links=to_services())


def frame(title: str, words: str, main: str, *, links: list[tuple[str, str]], service: str = "") -> str:
    written = "".join(f'<a href="{escape(url)}">{escape(name)}</a>' for url, name in links)
    return TIMELINE_FRAME.format(
        title=escape(title),
        words=escape(words),
        links=written,
        main=main,
        service=service,
        style=TIMELINE_STYLE,
        script=f"<script>{FRESH}</script>" if service else "",
    )


def _status(post: TimelinePost, timeline: Timeline) -> str:
    body = post.body or {}
    warning = f'<p class="text"><b>{escape(body["warning"])}</b></p>' if body.get("warning") else ""
    pictures = "".join(_picture(number, timeline) for number in body.get("pictures", ()))
    text = f'<p class="text">{linked(body.get("text", ""))}</p>'
    return article(post, "Harbour Notes", f"{PLACE} · automated", warning + text + pictures)


def _picture(number: str, timeline: Timeline) -> str:
    found = timeline.find(PICTURES, number)
    alt = found.body.get("alt", "") if found and found.body else ""
    return f'<img src="/pictures/{escape(number)}" alt="{escape(alt)}">'


def article(post: TimelinePost, name: str, about: str, content: str) -> str:
    when = datetime.fromisoformat(post.at).astimezone(ZONE)
    day = f"{when.day} {when:%b}, {when:%H:%M}"
    head = (
        f'<div class="by"><span class="face" aria-hidden="true">HN</span><div><b>{escape(name)}</b>'
        f'<span>{escape(about)}</span></div><time datetime="{escape(post.at)}">{day}</time></div>'
    )
    return f'<article id="{escape(post.number)}">{head}{content}</article>'


def linked(text: str) -> str:
    parts, end = [], 0
    for match in LINK_PATTERN.finditer(text):
        parts.append(escape(text[end : match.start()]))
        found, end = match[0], match.end()
        if found.startswith("#"):
            parts.append(f'<span style="color:var(--link)">{escape(found)}</span>')
            continue
        words = found.partition("://")[2]
        words = f"{words[:LONGEST_LINK]}…" if len(words) > LONGEST_LINK else words
        parts.append(f'<a href="{escape(found)}">{escape(words)}</a>')
    return "".join([*parts, escape(text[end:])])
