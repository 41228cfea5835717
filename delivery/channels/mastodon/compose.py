"""A letter as a status: the usual texts of announcements, and of a digest. Pure."""

import re
from dataclasses import dataclass, field

from common.truncation import FittingPart, cut_at_word, plain_line
from delivery.channels.http.links import MENTION, postable
from delivery.channels.mastodon.kind import VISIBILITIES
from delivery.letter import Letter, Recipient
from feeds.parsing.entry import Entry

WORD_JOINER = "\u2060"
# Names are whole in nearly every status; a hostile one must not leave the title without room.
NAME_LIMIT = 80
NO_LINK = "The post has no link, so there is nothing to announce. Give it a link in its feed."
NO_ARCHIVE = "The digest has no archive page to link to. Set SITE_URL, and let the bridge have an archive."


@dataclass(frozen=True, slots=True)
class Message:
    """A status yet to be fitted to its instance. With a `refusal` there is nothing to post."""

    instance_url: str
    access_token: str = field(repr=False)
    parts: tuple[FittingPart, ...] = ()
    link: str = ""
    visibility: str = "public"
    language: str = ""
    spoiler: str = ""
    refusal: str = ""

    @property
    def beginning(self) -> str:
        """What the status begins with, unless the instance takes very little."""
        return "".join(part.text for part in self.parts)


def compose_status(letter: Letter, recipient: Recipient) -> Message:
    """The status of an announcement (one post) or a digest (title, its page or the archive)."""
    entry = None if letter.is_digest or not letter.entries else letter.entries[0]
    link = postable(entry.link if entry else letter.web_url or letter.archive_url)
    if entry and letter.kind == "issue" and not letter.html and letter.text:
        # An issue without html has its text from the newsletter's own code (delivery.issues.contents). It is
        # posted as it was written, lines included, but it mentions nobody and has the link at least once.
        text = _unmentioned(letter.text)
        before, found, after = text.partition(link) if link else (text, "", "")
        parts = [FittingPart(before, cuttable=True)]
        if found:
            parts += [FittingPart(link), FittingPart(after, cuttable=True)]
        elif link:
            parts += [FittingPart(" "), FittingPart(link)]
    elif entry:
        parts = [*_announcement(letter, entry), FittingPart(link)]
    else:
        # `[name] TITLE LINK`: the title says how many posts there are.
        parts = [
            *_start(letter),
            FittingPart(plain(letter.title), cuttable=True),
            FittingPart(" "),
            FittingPart(link),
        ]
    # The first usable tag's primary subtag: instances take ISO 639 codes, feeds say en-US.
    tags = (letter.options.get("language", ""), entry.language if entry else "", letter.language)
    codes = (re.split("[-_]", tag.strip().lower())[0] for tag in tags)
    visibility = letter.options.get("visibility", "")
    return Message(
        instance_url=recipient.config.get("instance_url", ""),
        access_token=recipient.secrets.get("access_token", ""),
        parts=tuple(parts),
        link=link,
        visibility=visibility if visibility in VISIBILITIES else VISIBILITIES[0],
        language=next((code for code in codes if re.fullmatch("[a-z]{2,3}", code)), ""),
        spoiler=plain(letter.options.get("spoiler", "")),
        refusal="" if link else NO_LINK if entry else NO_ARCHIVE,
    )


def plain(text: str) -> str:
    """Text on one line that mentions nobody: `@someone` is broken with an invisible joiner."""
    return _unmentioned(plain_line(text))


def _name(text: str) -> str:
    return cut_at_word(plain(text), lambda part: len(part) <= NAME_LIMIT)


def _announcement(letter: Letter, entry: Entry) -> list[FittingPart]:
    """`[name] New Post: TITLE, by AUTHOR LINK`, and the forms without title or author."""
    title, author = plain(entry.title), _name(", ".join(entry.authors))
    parts = _start(letter)
    if title:
        parts += [FittingPart("New Post: "), FittingPart(title, cuttable=True)]
    else:
        parts += [FittingPart("New Untitled Post")]
    if author:
        parts += [FittingPart(", by "), FittingPart(author, cuttable=True)]
    return [*parts, FittingPart(" " if title or author else " at ")]


def _unmentioned(text: str) -> str:
    return MENTION.sub(f"@{WORD_JOINER}", text)


def _start(letter: Letter) -> list[FittingPart]:
    return [FittingPart("["), FittingPart(_name(letter.newsletter), cuttable=True), FittingPart("] ")]
