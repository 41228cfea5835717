"""All tags and filters of letter templates.

None that access files, unescape, or multiply their input (one `ljust` took 609 MB).

Sample posts for testing templates, and for previews before there are posts. Pure.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.template import (
    Context,
    Library,
    Node,
    TemplateSyntaxError,
    defaultfilters,
    defaulttags,
    loader_tags,
)
from django.template.base import Parser, Token
from django.templatetags import i18n

from channels.placeholders import Placeholders
from common.formats import dates
from feeds.parsing.entry import Entry, Media

SAMPLE_POSTS = 30
_WORDS = "The quick brown fox jumps over the lazy dog, and the dog does not mind. "
_CONTENT = f"<p>{_WORDS * 3}</p><h2>And then</h2><p>{_WORDS * 2}</p><blockquote><p>{_WORDS}</p></blockquote>"
_TITLES = ("Rain in the valley", "What the harbour master said", "Seven ways to tie a knot")
register = Library()
_TAGS = ("comment", "cycle", "firstof", "for", "if", "ifchanged", "spaceless", "templatetag", "with")
# Their loader finds only letter templates.
_LOADER_TAGS = ("block", "extends", "include")
_I18N_TAGS = ("blocktranslate", "translate")
_FILTERS = (
    "capfirst",
    "date",
    "default",
    "default_if_none",
    "escape",
    "first",
    "join",
    "last",
    "length",
    "linebreaks",
    "linebreaksbr",
    "lower",
    "pluralize",
    "slice",
    "striptags",
    "time",
    "title",
    "truncatechars",
    "truncatewords",
    "upper",
    "urlencode",
    "yesno",
)


class LetterContext(Context):
    """Holds the letter's placeholders, out of the templates' reach."""

    def __init__(self, values: dict[str, Any], *, placeholders: Placeholders, autoescape: bool) -> None:
        super().__init__(values, autoescape=autoescape)
        self.placeholders = placeholders


class FieldNode(Node):
    """`{% field NAME %}`, made from `%NAME%` by the loader, or `{% field NAME as VARIABLE %}`."""

    def __init__(self, name: str, variable: str = "") -> None:
        self.name, self.variable = name, variable

    def render(self, context: Context) -> str:
        if not isinstance(context, LetterContext):
            raise TemplateSyntaxError("Fields work in emails only.")
        token = context.placeholders.token(self.name)
        if not self.variable:
            return token
        context[self.variable] = token
        return ""


@register.tag("field")
def compile_field(_parser: Parser, token: Token) -> FieldNode:
    match token.split_contents():
        case [_, name]:
            return FieldNode(name)
        case [_, name, "as", variable]:
            return FieldNode(name, variable)
    raise TemplateSyntaxError("Write {% field NAME %} or {% field NAME as VARIABLE %}.")


def _take(kept: dict[str, Any], there_are: dict[str, Any], names: Iterable[str]) -> None:
    kept.update({name: there_are[name] for name in names})


_take(register.tags, defaulttags.register.tags, _TAGS)
_take(register.tags, loader_tags.register.tags, _LOADER_TAGS)
_take(register.tags, i18n.register.tags, _I18N_TAGS)
_take(register.filters, defaultfilters.register.filters, _FILTERS)
_take(register.filters, dates.register.filters, ("day",))


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
