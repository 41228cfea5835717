"""An announcement as records of posts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from channels.announcement import EPOCH, Announcement
from channels.bluesky.richtext import rich_text, tags_of
from channels.bluesky.spec import ENTRYWAY
from channels.http.measures import octets
from channels.letter import Recipient
from channels.wording import parts_of
from common.truncation import DoesNotFit, FittingPart, cut_to

COLLECTION = "app.bsky.feed.post"
# Lexicon strings of the format uri have at most 8 KB.
LONGEST_LINK = 8_000
LONGEST_DESCRIPTION = 300
MOST_ANSWERS = 20
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BlueskyAccount:
    """Whose posts they are. `name` is what it signs in with, at `service`; `pds` is where its posts are
    written, "" where nobody has looked yet."""

    name: str
    service: str
    pds: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BlueskyPost:
    """`plain` is said where the record is refused; `picture` is the address of its card's."""

    record: Record
    plain: Record
    picture: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A post, and those that answer it, each the one before. With a `refusal` there is nothing to post."""

    account: BlueskyAccount
    at: datetime = EPOCH
    posts: tuple[BlueskyPost, ...] = ()
    refusal: str = ""


def account_of(recipient: Recipient) -> BlueskyAccount:
    config = recipient.config
    return BlueskyAccount(
        name=config.get("did") or recipient.core,
        service=config.get("service_url") or ENTRYWAY,
        pds=config.get("pds", ""),
        password=recipient.secrets.get("app_password", ""),
    )


def message_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
    """The post of a post or a digest, with its thread where that is wanted."""
    account = account_of(recipient)
    if said.refusal:
        return Message(account, refusal=said.refusal)
    if octets(said.link) > LONGEST_LINK:
        return Message(account, refusal="The post's link is longer than what Bluesky takes.")
    try:
        posts = [_announcing(said, options)]
    except DoesNotFit:  # the template's own words are too many; the usual ones always fit
        options = {**options, "template": ""}
        posts = [_announcing(said, options)]
    if not (posts[0].record["text"].strip() or "embed" in posts[0].record):
        return Message(account, refusal="There are no words to post.")
    if said.is_digest and options.get("thread"):
        for number, line in enumerate(said.lines[:MOST_ANSWERS], start=1):
            ending = [FittingPart("\n"), FittingPart(line.link, link=line.link)] if line.link else []
            parts = [FittingPart(line.title, cuttable=True), *ending]
            answer = _record(said, options, *rich_text(parts, ()), number)
            posts.append(BlueskyPost(answer, answer))
    return Message(account, said.at, tuple(posts))


def _announcing(said: Announcement, options: Mapping[str, str]) -> BlueskyPost:
    template, is_own = options.get("template", ""), bool(said.own_words)
    plain = _record(said, options, *rich_text(parts_of(said, template), said.hashtags, is_own=is_own))
    if said.is_digest or not said.link or options.get("card") == "no":
        return BlueskyPost(plain, plain)
    parts = parts_of(said, template, link=False)
    text, facets = rich_text(parts, said.hashtags, is_own=is_own)
    description = cut_to(said.summary, LONGEST_DESCRIPTION)
    card = {"uri": said.link, "title": said.title or said.newsletter_title, "description": description}
    embed = {"$type": "app.bsky.embed.external", "external": card}
    record = {**_record(said, options, text, facets), "embed": embed}
    return BlueskyPost(record, plain, said.images[0].url if said.images else "")


def _record(
    said: Announcement, options: Mapping[str, str], text: str, facets: list[Record], number: int = 0
) -> Record:
    # Answers come after what they answer.
    at = (said.at + timedelta(milliseconds=number)).astimezone(UTC).isoformat(timespec="milliseconds")
    record: Record = {"$type": COLLECTION, "text": text, "createdAt": at.replace("+00:00", "Z")}
    shown = tags_of(facets)
    hidden = [tag for tag in said.hashtags if tag.casefold() not in shown]
    if facets:
        record["facets"] = facets
    if said.language:
        record["langs"] = [said.language]
    if hidden and not options.get("tags"):
        record["tags"] = hidden
    if warning := options.get("content_label"):
        label = "com.atproto.label.defs#selfLabels"
        record["labels"] = {"$type": label, "values": [{"val": warning}]}
    return record
