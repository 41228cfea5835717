"""An announcement as a message of Discord, in full and once more plain. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from common.truncation import DoesNotFit, FittingPart, cut_at_word, fit_parts, plain_line
from delivery.channels.announcement import Announcement, Line
from delivery.channels.discord.markup import apart, escaped, unaddressed, with_preview, written
from delivery.channels.wording import parts_of
from delivery.letter import Recipient

# In code points, as staff of Discord's say.
CONTENT_LIMIT, THREAD_NAME_LIMIT = 2_000, 100
TITLE_LIMIT, DESCRIPTION_LIMIT, URL_LIMIT = 256, 4_096, 2_048
# Of a post's summary; more of it would push a conversation off the screen.
EMBED_SUMMARY_LIMIT = 500
# A thread takes five.
MOST_TAGS = 5
NO_PREVIEWS, SILENT = 1 << 2, 1 << 12
TOO_LONG = "The link alone is longer than what Discord takes."
UNTITLED = "New Untitled Post"


@dataclass(frozen=True, slots=True)
class Message:
    """`full` and `plain` are bodies of requests. With a `refusal` there is nothing to post.

    `thread_id` is the thread it goes into; `thread_name` is for forums, where each post begins one.
    """

    full: Mapping[str, Any] = field(default_factory=dict)
    plain: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    webhook_url: str = field(default="", repr=False)
    look: Mapping[str, str] = field(default_factory=dict)
    thread_id: str = ""
    thread_name: str = ""
    applied_tags: tuple[str, ...] = ()
    wants_thread: bool = False
    wants_crosspost: bool = False
    refusal: str = ""


def message_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
    """The message of a post or a digest. Nobody is called but the role that the admin chose."""
    if said.refusal:
        return Message(refusal=said.refusal)
    try:
        full, plain = _full(said, options), _body(_words(said, options, CONTENT_LIMIT * 9 // 10), options)
    except DoesNotFit:
        return Message(refusal=TOO_LONG)
    look = {"username": options.get("sender_name", ""), "avatar_url": options.get("sender_picture", "")}
    return Message(
        full=full,
        plain=plain,
        config=recipient.config,
        webhook_url=recipient.secrets.get("webhook_url", ""),
        look={name: value for name, value in look.items() if value},
        thread_id=options.get("thread_id", ""),
        thread_name=_thread_name(said, options.get("thread_name", "")),
        applied_tags=tuple(options.get("applied_tags", "").split()[:MOST_TAGS]),
        wants_thread="thread_name" in options,
        wants_crosspost=bool(options.get("crosspost")),
    )


def _full(said: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
    style, has_words = options.get("style", ""), bool(said.own_words or options.get("template"))
    if style == "text":
        return _body(_words(said, options, CONTENT_LIMIT, with_preview), options)
    if style == "compact":
        words = _words(said, options, CONTENT_LIMIT) if has_words else _compact(said, options)
        return _body(words, options, flags=NO_PREVIEWS)
    if len(said.link) > URL_LIMIT:
        raise DoesNotFit(TOO_LONG)
    words = _words(said, options, CONTENT_LIMIT) if has_words else ""
    return {**_body(words, options), "embeds": [_card(said)]}


def _body(words: str, options: Mapping[str, str], *, flags: int = 0) -> dict[str, Any]:
    """With all that is to be in every body: what Discord may take for a call is none."""
    role = options.get("role", "")
    flags |= SILENT if options.get("silent") else 0
    return {
        "content": f"{_call(options)}{words}".strip(),
        "embeds": [],
        "allowed_mentions": {"parse": [], **({"roles": [role]} if role else {})},
        **({"flags": flags} if flags else {}),
    }


def _call(options: Mapping[str, str]) -> str:
    return f"<@&{options['role']}> " if options.get("role") else ""


def _words(
    said: Announcement,
    options: Mapping[str, str],
    limit: int,
    shown: Callable[[FittingPart], str] = written,
) -> str:
    """Raises DoesNotFit."""
    left = limit - len(_call(options))
    return fit_parts(
        apart(parts_of(said, options.get("template", ""))), lambda text: len(text) <= left, shown
    )


def _compact(said: Announcement, options: Mapping[str, str]) -> str:
    """`Newsletter: Title, by Author`, where the title is the link; of a digest its posts too. Raises
    DoesNotFit."""
    left = CONTENT_LIMIT - len(_call(options))
    parts = [
        FittingPart(said.newsletter_title, cuttable=True),
        FittingPart(": "),
        FittingPart(said.title or UNTITLED, cuttable=True, link=said.link),
        FittingPart(f", by {said.authors}" if said.authors else ""),
    ]
    first = fit_parts(parts, lambda text: len(text) <= left, written)
    return "\n".join([first, *_listed(said.lines, left - len(first))])


def _card(said: Announcement) -> dict[str, Any]:
    lines = "\n".join(_listed(said.lines, DESCRIPTION_LIMIT))
    summary = "" if said.summary == said.title else said.summary
    image = next((image.url for image in said.images if len(image.url) <= URL_LIMIT), "")
    card = {
        "title": _cut(said.title or UNTITLED, TITLE_LIMIT),
        "url": said.link,
        "description": lines or _cut(summary, EMBED_SUMMARY_LIMIT),
        "timestamp": said.at.isoformat(),
        # Neither of these two knows markup.
        "author": {"name": unaddressed(said.authors)} if said.authors else None,
        "footer": {"text": unaddressed(said.newsletter_title)} if said.newsletter_title else None,
        "image": {"url": image} if image else None,
    }
    return {name: value for name, value in card.items() if value}


def _cut(text: str, limit: int) -> str:
    """Escaped; the limit is for what is written, escapes included."""
    return escaped(cut_at_word(text, lambda part: len(escaped(part)) <= limit))


def _listed(lines: Sequence[Line], room: int) -> list[str]:
    """A line for each post of a digest, as many as there is room for, and how many more there are."""
    made: list[str] = []
    for number, line in enumerate(lines):
        title = cut_at_word(line.title, lambda part: len(part) <= TITLE_LIMIT)
        text = f"• {written(FittingPart(title, link=line.link))}"
        more = f"… and {len(lines) - number:,} more"
        room -= len(text) + 1
        if room < len(more) + 1:
            return [*made, more]
        made.append(text)
    return made


def _thread_name(said: Announcement, template: str) -> str:
    """Words without markup, and never none."""
    parts = parts_of(replace(said, own_words=""), template or "{title|" + UNTITLED + "}")
    name = plain_line("".join(part.text for part in parts))
    return cut_at_word(unaddressed(name), lambda text: len(text) <= THREAD_NAME_LIMIT) or UNTITLED
