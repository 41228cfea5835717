"""Previews of a bridge's newest posts."""

from collections.abc import Sequence
from datetime import datetime

from channels import channel
from channels.announcement import announcement_of
from channels.base import Looks, Previews
from channels.letter import Letter, Recipient
from channels.wording import parts_of
from delivery.bridges.connect import read_secrets
from delivery.issues.contents import Arranged, arranged
from delivery.letters.build import newsletter_letter
from delivery.letters.samples import NothingToShow, newest_posts, usual_count
from delivery.models import Delivery
from delivery.rendering.errors import Rendered
from delivery.rendering.subjects import title
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable

NO_POSTS = "There is no post to show yet: its feeds were not read, are empty, or have none that it takes."


def newest_letters(subscribable: Subscribable, *, now: datetime, count: int = 1) -> list[Letter]:
    """Return up to `count` posts, newest first; one for a digest.

    Raises NothingToShow, and LetterError if own code fails.
    """
    is_digest = subscribable.arrangement != Subscribable.Arrangement.EACH
    posts = newest_posts(subscribable, usual_count(subscribable) if is_digest else count)
    done = [arranged(subscribable, each) for each in ([posts] if is_digest else [[post] for post in posts])]
    letters = [_letter(subscribable, each, now) for each in done if each.posts]
    if not letters:
        raise NothingToShow(NO_POSTS)
    return letters


def _letter(subscribable: Subscribable, done: Arranged, now: datetime) -> Letter:
    entries = [post.entry for post in done.posts]
    return _unrendered(
        subscribable, entries, title=title(entries, subscribable.language), words=done.announcement, at=now
    )


def letter_without_posts(subscribable: Subscribable) -> Letter:
    """Return a letter for messages that only need a destination."""
    return _unrendered(subscribable, ())


def _unrendered(
    subscribable: Subscribable,
    entries: Sequence[Entry],
    *,
    title: str = "",
    words: str = "",
    at: datetime | None = None,
) -> Letter:
    """Return a letter without HTML, which bridges do not use."""
    rendered = Rendered(title=title, subject="", html="", text=words)
    return newsletter_letter(
        subscribable, rendered, kind=Delivery.Kind.ISSUE, token="", entries=entries, at=at
    )


def recipient_at(destination: Destination, *, delivery_id: int = 0) -> Recipient:
    """Return the recipient. Raises InvalidDestination if the secrets are unreadable."""
    return Recipient(
        delivery_id=delivery_id,
        core=destination.core,
        label=destination.label,
        config=destination.config,
        secrets=read_secrets(destination),
    )


def looks_of(letter: Letter, recipient: Recipient, *, kind: str) -> Looks:
    """Return the service's preview, else the plain words."""
    ours = channel(kind)
    if isinstance(ours, Previews):
        return ours.preview(ours.compose(letter, recipient))
    said = announcement_of(letter)
    parts = parts_of(said, letter.options.get("template", ""))
    return Looks("".join(part.text for part in parts), refusal=said.refusal)
