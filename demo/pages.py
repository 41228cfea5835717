from collections.abc import Sequence
from html import escape
from io import StringIO

from django.utils.feedgenerator import Rss201rev2Feed

from demo.blog import IN_FEED, MOTTO, TITLE, Page
from demo.content.post import ZONE
from demo.images import HEIGHT, WIDTH

STYLE = """
:root { color-scheme: light dark;
  --ink: #22282c; --soft: #66717a; --paper: #fbfaf7; --line: #e2ded4; --sea: #1f5f78 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e4e1; --soft: #9aa4ab; --paper: #16191b; --line: #343a3e; --sea: #7fbcd3 }
}
body { margin: 0 auto; max-width: 40rem; padding: 3rem 1.25rem; background: var(--paper); color: var(--ink);
  font: 1.125rem/1.65 Charter, "Iowan Old Style", Georgia, serif }
header { border-bottom: 2px solid var(--sea); margin-bottom: 2rem }
header p, .byline { color: var(--soft); font: .9rem/1.5 system-ui, sans-serif }
h1, h2 { line-height: 1.25; margin-bottom: .3rem }
a { color: var(--sea) } header a, h2 a { color: inherit; text-decoration: none }
img { max-width: 100%; height: auto; border-radius: 4px }
figure { margin: 0 0 1.5rem }
table { border-collapse: collapse }
th, td { border-bottom: 1px solid var(--line); padding: .3rem 1.2rem .3rem 0; text-align: left }
blockquote { margin: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft) }
pre { overflow-x: auto; font-size: .85rem }
"""
ICON = "/icon.png"
PRIVACY = "/privacy/"
FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="alternate" type="application/rss+xml" title="{blog}" href="/feed.xml">
<link rel="icon" href="/icon.png" sizes="64x64"><style>{style}</style></head>
<body><header><h1><a href="/">{blog}</a></h1><p>{motto} · <a href="/feed.xml">Feed</a></p></header>
<main>{main}</main></body></html>
"""


def home(pages: Sequence[Page]) -> str:
    parts = [
        f'<article><h2><a href="/{page.slug}/">{escape(page.title)}</a></h2>{byline(page)}</article>'
        for page in pages
    ]
    return frame(TITLE, "\n".join(parts))


def post(page: Page) -> str:
    back = '<p><a href="/">All notes</a></p>'
    return frame(
        f"{page.title} · {TITLE}", f"<h2>{escape(page.title)}</h2>{byline(page)}{content(page)}{back}"
    )


def not_found() -> str:
    return frame(f"Not here · {TITLE}", "<h2>Note not found</h2><p>It may have been deleted.</p>")


def privacy() -> str:
    words = (
        "<p>We keep your address and the newsletters that you chose, and nothing else. Nobody counts "
        "what you open. Each email has a link to leave, and to delete what we know about you.</p>"
    )
    return frame(f"Privacy · {TITLE}", f"<h2>Privacy</h2>{words}")


def feed_path(tag: str = "") -> str:
    return f"/tags/{tag}/feed.xml" if tag else "/feed.xml"


def feed(pages: Sequence[Page], base: str, tag: str = "", *, title: str = TITLE) -> bytes:
    """Return the newest posts (of a tag) as RSS, in full. The bytes are reproducible."""
    rss = Rss201rev2Feed(
        title=f"{title}: {tag.capitalize()}" if tag else title,
        link=f"{base}/",
        description=MOTTO,
        language="en",
        feed_url=f"{base}{feed_path(tag)}",
    )
    for page in [page for page in pages if not tag or tag in page.tags][:IN_FEED]:
        rss.add_item(
            title=page.title,
            link=f"{base}/{page.slug}/",
            description=content(page, base),
            author_name=page.author,
            pubdate=page.published,
            categories=page.tags,
            unique_id=f"{base}/{page.slug}/",
        )
    written = StringIO()
    rss.write(written, "utf-8")
    return written.getvalue().encode()


def content(page: Page, base: str = "") -> str:
    blocks = (" ".join(block.split("\n")) for block in preserved(page.body))
    body = "\n".join(block if block.startswith("<") else f"<p>{block}</p>" for block in blocks)
    return picture(page, base) + body


def preserved(body: str) -> list[str]:
    blocks: list[str] = []
    for block in body.strip().split("\n\n"):
        if blocks and blocks[-1].count("<pre>") > blocks[-1].count("</pre>"):
            blocks[-1] += "&#10;&#10;" + block.replace("\n", "&#10;")
        else:
            blocks.append(block.replace("\n", "&#10;") if "<pre>" in block else block)
    return blocks


def picture(page: Page, base: str) -> str:
    if not page.scene:
        return ""
    source = f"{base}/images/{page.slug}.jpg"
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    return f'<figure><img src="{source}" alt="{escape(page.alt)}" {size}></figure>\n'


def byline(page: Page) -> str:
    when = page.published.astimezone(ZONE)
    return f'<p class="byline">{escape(page.author)} · {when.day} {when:%B %Y, %H:%M}</p>'


def frame(title: str, main: str) -> str:
    return FRAME.format(title=escape(title), blog=TITLE, motto=MOTTO, style=STYLE, main=main)
