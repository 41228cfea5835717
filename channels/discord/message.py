"""Each message has a full and a plain version."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from channels.announcement import Announcement
from channels.base import TOO_LONG
from channels.wording import parts_of
from common.truncation import DoesNotFit, FittingPart, cut_at_word, cut_to, fit_parts, fitted, plain_line
from subscriptions.rules.post_rules import found_in, read_words

ZERO_WIDTH_SPACE = "\u200b"
# Includes the colon: `:name:` is an emoji, and `https:` begins a link.
_MARKUP = re.compile(r"[\\*_~|>\[\]()#\-<:`]")
# Also at the end of a part: another part follows.
_EVERYBODY = re.compile(r"@(?=everyone|here|\Z)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
# [words](<address>) or <address>.
_LINK = re.compile(r"\[((?:[^\]\\]|\\.)*)\]\(<[^<>\s]*>\)|(?<!\\)<(https?://[^<>\s]*)>")
# In a compact post: bold, quotation and age.
_FRAME = re.compile(r"(?<!\\)\*\*|^> ", re.MULTILINE)
_AGO = re.compile(r"<t:(\d{1,12}):R>")
# Discord leaves these out at the end of a link without brackets.
_LEFT_OUT = re.compile(r"[.,:;\"'\])]+$")
# Code points, according to Discord's staff.
CONTENT_LIMIT, THREAD_NAME_LIMIT = 2_000, 100
TITLE_LIMIT, DESCRIPTION_LIMIT, URL_LIMIT = 256, 4_096, 2_048
# For summaries; longer ones would fill the screen.
EMBED_SUMMARY_LIMIT = 500
# The picture is shown instead if the summary is shorter than the second.
BRIEF_LIMIT, PICTURE_SAYS_MORE = 300, 100
# The digest's page has all posts.
MOST_LISTED = 10
# Discord's limit for a thread.
MOST_TAGS = 5
NO_PREVIEWS, SILENT = 1 << 2, 1 << 12
UNTITLED = "New Untitled Post"
NO_FOOTER = "-"


def ago(moment: datetime) -> str:
    """Discord updates it in each reader's language."""
    return f"<t:{int(moment.timestamp())}:R>"


def unaddressed(text: str) -> str:
    """Disable mentions, for places without markup."""
    return _EVERYBODY.sub(f"@{ZERO_WIDTH_SPACE}", text)


def escaped(text: str) -> str:
    return unaddressed(_MARKUP.sub(lambda match: f"\\{match[0]}", text))


def written(part: FittingPart) -> str:
    """Links in brackets have no preview and a clear end."""
    if not part.link:
        return escaped(part.text)
    url = f"<{_url(part.link)}>"
    return url if part.text == part.link else f"[{escaped(part.text)}]({url})"


def with_preview(part: FittingPart) -> str:
    """Show a preview of the link; for parts from `apart`."""
    if not part.link or part.text != part.link:
        return written(part)
    return _LEFT_OUT.sub(lambda match: "".join(f"%{ord(char):02X}" for char in match[0]), _url(part.link))


def apart(parts: Sequence[FittingPart]) -> list[FittingPart]:
    made: list[FittingPart] = []
    for part in parts:
        last = made[-1] if made else FittingPart(" ")
        if (part.link or last.link) and not (last.text[-1:].isspace() or part.text[:1].isspace()):
            made.append(FittingPart(" "))
        made.append(part)
    return made


def shown(text: str) -> str:
    """Return the visible text; for links their words."""
    text = _AGO.sub(lambda match: f"{datetime.fromtimestamp(int(match[1]), UTC):%Y-%m-%d}", text)
    text = _FRAME.sub("", _LINK.sub(lambda match: match[1] or match[2], text))
    return _ESCAPED.sub(r"\1", text)


def _url(link: str) -> str:
    return _EVERYBODY.sub("%40", link.replace(">", "%3E"))


@dataclass(frozen=True, slots=True)
class Post:
    """Has request bodies `full` and `plain`.

    `thread_id` is an existing thread; `thread_name` is for forums, where each post begins one.
    """

    full: Mapping[str, Any]
    plain: Mapping[str, Any]
    look: Mapping[str, str]
    thread_id: str
    thread_name: str
    # Chosen by an admin; other tags may be deleted.
    chosen_tags: tuple[str, ...]
    # Posts' categories, as far as they become tags.
    categories: frozenset[str]
    wants_thread: bool
    # Minutes until the thread is archived; "" for no thread.
    thread_minutes: str
    wants_crosspost: bool
    # Without it, equal texts are ambiguous.
    link: str

    def applied_tags(self, known: str) -> list[str]:
        """`known` are the forum's tags: one per line, id and name."""
        tags = (line.partition(" ") for line in known.splitlines())
        wanted = (number for number, _, name in tags if name.casefold() in self.categories)
        return list(dict.fromkeys((*self.chosen_tags, *wanted)))[:MOST_TAGS]


def post_of(post: Announcement, options: Mapping[str, str]) -> Post:
    """Only the chosen role is mentioned. Raises DoesNotFit."""
    if options.get("style") == "compact" or options.get("trim"):
        post = replace(post, summary=post.own_summary)
    if not _calls(post, options):
        options = {**options, "role": ""}
    look = {"username": options.get("sender_name", ""), "avatar_url": options.get("sender_picture", "")}
    categories = post.categories if options.get("tags_by_category") else ()
    return Post(
        full=_full(post, options),
        plain=_body(_words(post, options, CONTENT_LIMIT * 9 // 10), options),
        look={name: value for name, value in look.items() if value},
        thread_id=options.get("thread_id", ""),
        thread_name=_thread_name(post, options.get("thread_name", "")),
        chosen_tags=tuple(options.get("applied_tags", "").split()[:MOST_TAGS]),
        categories=frozenset(category.casefold() for category in categories),
        wants_thread="thread_name" in options,
        thread_minutes=options.get("thread_minutes", ""),
        wants_crosspost=bool(options.get("crosspost")),
        link=post.link,
    )


def _full(post: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
    style, has_words = options.get("style", ""), bool(post.own_words or options.get("template"))
    if style == "text" or (style == "link" and not post.link):
        return _body(_words(post, options, CONTENT_LIMIT, with_preview), options)
    if style == "link" and post.link:
        link = with_preview(FittingPart(post.link, link=post.link))
        if len(_call(options)) + len(link) > CONTENT_LIMIT:
            raise DoesNotFit(TOO_LONG)
        return _body(link, options)
    if style == "compact" and not has_words:
        return _compact(post, options)
    if style == "compact":
        return _body(_words(post, options, CONTENT_LIMIT), options, flags=NO_PREVIEWS)
    if len(post.link) > URL_LIMIT:
        raise DoesNotFit(TOO_LONG)
    words = _words(post, options, CONTENT_LIMIT) if has_words else ""
    return {**_body(words, options), "embeds": [_card(post, options)]}


def _body(words: str, options: Mapping[str, str], *, flags: int = 0) -> dict[str, Any]:
    role = options.get("role", "")
    flags |= SILENT if options.get("silent") else 0
    return {
        "content": f"{_call(options)}{words}".strip(),
        "embeds": [],
        "allowed_mentions": {"parse": [], **({"roles": [role]} if role else {})},
        **({"flags": flags} if flags else {}),
    }


def _calls(post: Announcement, options: Mapping[str, str]) -> bool:
    """Return whether to mention the role: always, or for posts with a chosen word."""
    words = options.get("role_words", "")
    texts = (post.title, post.summary, *post.categories, *(line.title for line in post.lines))
    return not words or found_in(read_words(words), texts)


def _call(options: Mapping[str, str]) -> str:
    return f"<@&{options['role']}> " if options.get("role") else ""


def _words(
    post: Announcement, options: Mapping[str, str], limit: int, shown: Callable[[FittingPart], str] = written
) -> str:
    left = limit - len(_call(options))
    return fit_parts(
        apart(parts_of(post, options.get("template", ""))), lambda text: len(text) <= left, shown
    )


def _compact(post: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
    """Raises DoesNotFit.

    `**Newsletter** · [Title](<link>) · age`, then a quotation, a picture if there are few words, or a
    digest's posts.
    """
    left = CONTENT_LIMIT - len(_call(options))
    age = "" if post.is_digest else f" · {ago(post.dated or post.at)}"
    name = FittingPart(post.newsletter_title, cuttable=True)
    title = FittingPart(post.title or UNTITLED, cuttable=True, link=post.link)

    def line(pieces: Sequence[FittingPart]) -> str:
        return f"**{written(pieces[0])}** · {written(pieces[1])}{age}"

    first = line(fitted([name, title], lambda pieces: len(line(pieces)) <= left))
    left -= len(first) + 1
    if post.is_digest:
        return _body("\n".join([first, *_listed(post, left)]), options, flags=NO_PREVIEWS)
    summary = "" if post.summary == post.title else post.summary
    picture = _picture(post, options) if len(summary) <= PICTURE_SAYS_MORE else ""
    if picture and len(bare := with_preview(FittingPart(picture, link=picture))) <= left:
        return _body(f"{first}\n{bare}", options)
    quoted = cut_at_word(
        summary, lambda part: len(part) <= BRIEF_LIMIT and len(escaped(part)) + len("> ") <= left
    )
    return _body(f"{first}\n> {escaped(quoted)}" if quoted else first, options, flags=NO_PREVIEWS)


def _card(post: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
    lines = "\n".join(_listed(post, DESCRIPTION_LIMIT))
    summary = "" if post.summary == post.title else post.summary
    image, is_small = _picture(post, options), options.get("image") == "small"
    footer = {"": post.newsletter_title, NO_FOOTER: ""}.get(given := options.get("footer", ""), given)
    author = "" if options.get("author") else post.authors
    colour = options.get("colour", "").removeprefix("#")
    card = {
        "title": _cut(post.title or UNTITLED, TITLE_LIMIT),
        "url": post.link,
        "description": lines or _cut(summary, EMBED_SUMMARY_LIMIT),
        "timestamp": post.at.isoformat(),
        # Discord treats black as no colour.
        "color": max(int(colour, 16), 1) if colour else None,
        # These two have no markup.
        "author": {"name": unaddressed(author)} if author else None,
        "footer": {"text": unaddressed(footer)} if footer else None,
        "thumbnail" if is_small else "image": {"url": image} if image else None,
    }
    return {name: value for name, value in card.items() if value}


def _picture(post: Announcement, options: Mapping[str, str]) -> str:
    if options.get("image") == "none":
        return ""
    return next((image.url for image in post.images if len(image.url) <= URL_LIMIT), "")


def _cut(text: str, limit: int) -> str:
    """The limit includes escapes."""
    return escaped(cut_at_word(text, lambda part: len(escaped(part)) <= limit))


def _listed(post: Announcement, room: int) -> list[str]:
    """List posts as far as they fit, and the number of others."""
    made: list[str] = []
    for number, line in enumerate(post.lines):
        title = cut_to(line.title, TITLE_LIMIT)
        text = f"• {written(FittingPart(title, link=line.link))}"
        more = f"… {written(FittingPart(f'and {len(post.lines) - number:,} more', link=post.link))}"
        room -= len(text) + 1
        if number >= MOST_LISTED or room < len(more) + 1:
            return [*made, more]
        made.append(text)
    return made


def _thread_name(post: Announcement, template: str) -> str:
    """Return plain text, never empty."""
    parts = parts_of(replace(post, own_words=""), template or "{title}")
    name = plain_line("".join(part.text for part in parts))
    return cut_to(unaddressed(name), THREAD_NAME_LIMIT) or UNTITLED
