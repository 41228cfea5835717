"""Sample posts for testing templates, and for previews before there are posts. Pure."""

from datetime import datetime, timedelta

from feeds.parsing.entry import Entry, Media

SAMPLE_POSTS = 30
_WORDS = "The quick brown fox jumps over the lazy dog, and the dog does not mind. "
_CONTENT = f"<p>{_WORDS * 3}</p><h2>And then</h2><p>{_WORDS * 2}</p><blockquote><p>{_WORDS}</p></blockquote>"
_TITLES = ("Rain in the valley", "What the harbour master said", "Seven ways to tie a knot")


def a_post(number: int, *, now: datetime) -> Entry:
    return Entry(
        guid=f"made-up-{number}",
        title=_TITLES[number % len(_TITLES)],
        link=f"https://blog.example/posts/{number}",
        authors=("Ada Lovelace",),
        content=_CONTENT,
        published=now - timedelta(hours=20 * number),
    )


def usual(*, now: datetime) -> tuple[Entry, ...]:
    return tuple(a_post(number, now=now) for number in range(1, 4))


def only_a_link(*, now: datetime) -> Entry:
    return Entry(
        guid="link", title=_TITLES[0], link="https://blog.example/posts/1", published=now - timedelta(hours=1)
    )


def odd(*, now: datetime) -> tuple[tuple[Entry, ...], ...]:
    """Return difficult collections: only text, very many, very long, right to left."""
    bare = Entry(guid="bare", title="", content="<p>Only this.</p>")
    many = tuple(a_post(number, now=now) for number in range(1, SAMPLE_POSTS + 1))
    long = Entry(
        guid="long", title="Long " * 100, link="https://blog.example/long", content=f"<p>{_WORDS * 2000}</p>"
    )
    sound = Media(url="https://blog.example/talk.mp3", type="audio/mpeg", length=1_000_000, alt="")
    hebrew = Entry(
        guid="rtl", title="שלום & <b>ברוכים</b>", content="<p>שלום</p>", language="he", media=(sound,)
    )
    return ((bare,), many, (long,), (hebrew, bare))
