"""Contents of edits and deletions of posts."""

from dataclasses import dataclass
from typing import NamedTuple

from channels import channel
from channels.letter import Letter, Recipient
from channels.rules.corrections import EDIT_CORRECTED, change_key, changed_post, wishes
from common.refused import Refused
from delivery.bridges.messages import letter_without_posts
from delivery.issues.contents import arranged
from delivery.letters.build import newsletter_letter
from delivery.links import issue_url
from delivery.models import Correction, Delivery, Issue, RemotePost
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering.errors import Rendered
from delivery.rules.posts import Post
from feeds.parsing.entry import Entry

NO_SENT_POST = "There is no post to change: it was not sent, or its service gave no ID for it."
SUPERSEDED = "A newer correction, or the post's deletion, came before it."
SWITCHED_OFF = "The bridge no longer edits its posts."
LEFT_OUT = "The bridge leaves the corrected post out, so the old one stays."
SAME_WORDS = "The text of the bridge’s post has not changed."


class NotNeeded(Refused):
    """There is nothing to do any more."""


class SentPost(NamedTuple):
    """Ids of a post at the service, and of its thread."""

    remote_id: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PostChange:
    """`letter`: new text; a deletion has no posts. `before`: present text, if certain."""

    sent: SentPost
    letter: Letter
    before: Letter | None = None

    def refuse_same(self, recipient: Recipient, *, kind: str) -> None:
        """Raise NotNeeded if the message would not change."""
        ours = channel(kind)
        if self.before and ours.compose(self.before, recipient) == ours.compose(self.letter, recipient):
            raise NotNeeded(SAME_WORDS)


def change_of(delivery_id: int) -> PostChange:
    """Return a claimed change. Raises NotNeeded, and LetterError if own code fails."""
    row = Delivery.objects.only("kind", "key").get(pk=delivery_id)
    post_id, number = changed_post(row.key)
    related = Delivery.objects.select_related("issue__subscribable")
    post = related.filter(pk=post_id, state=Delivery.State.SENT).exclude(remote_id="").first()
    if post is None or post.issue is None:
        raise NotNeeded(NO_SENT_POST)
    remote = RemotePost.objects.filter(delivery=post).first()
    sent = SentPost(post.remote_id, tuple(remote.parts) if remote else ())
    bridge = post.issue.subscribable
    if row.kind == Delivery.Kind.DELETE:
        return PostChange(sent, letter_without_posts(bridge))
    every = list(Correction.objects.filter(issue=post.issue).order_by("number"))
    wanted = next((one for one in every if one.number == number), None)
    if wanted is None or _is_superseded(post, number, len(every)):
        raise NotNeeded(SUPERSEDED)
    if EDIT_CORRECTED not in wishes(bridge.options, bridge.arrangement):
        raise NotNeeded(SWITCHED_OFF)
    before = _standing(post, post.issue, every[: number - 1])
    return PostChange(sent, _letter_of(post.issue, wanted), before)


def _is_superseded(post: Delivery, number: int, last: int) -> bool:
    """Return whether a later edit or the deletion was done or will be."""
    later = [change_key(post.pk, one) for one in range(number + 1, last + 1)]
    goes_on = Delivery.objects.filter(issue=None, state__in=(*NOT_FINISHED, Delivery.State.SENT))
    if goes_on.filter(kind=Delivery.Kind.EDIT, key__in=later).exists():
        return True
    return goes_on.filter(kind=Delivery.Kind.DELETE, key=change_key(post.pk, 1)).exists()


def _standing(post: Delivery, issue: Issue, earlier: list[Correction]) -> Letter | None:
    """Return the present text; None if an edit may have arrived unnoticed."""
    keys = {change_key(post.pk, one.number): one for one in earlier}
    edits = Delivery.objects.filter(kind=Delivery.Kind.EDIT, issue=None, key__in=keys)
    for edit in sorted(edits, key=lambda edit: changed_post(edit.key), reverse=True):
        if edit.state == Delivery.State.SENT:
            return _letter_of(issue, keys[edit.key])
        if edit.attempts:
            return None
    entries = [Entry.from_json(row.entry) for row in issue.issue_items.order_by("position")]
    return _letter(issue, entries, issue.text if not issue.html else "")


def _letter_of(issue: Issue, correction: Correction) -> Letter:
    """Return the corrected letter. Raises NotNeeded if left out, and LetterError."""
    assert correction.entry is not None  # noqa: S101 - it is no withdrawal
    row = issue.issue_items.select_related("item__feed").get()
    feed_url = row.item.feed.url if row.item else ""
    done = arranged(
        issue.subscribable, [Post(row.item_id or 0, 0, Entry.from_json(correction.entry), feed_url)]
    )
    if not done.posts:
        raise NotNeeded(LEFT_OUT)
    return _letter(issue, [post.entry for post in done.posts], done.announcement)


def _letter(issue: Issue, entries: list[Entry], words: str) -> Letter:
    """Return the letter. `words`: own code's, instead of the usual ones."""
    return newsletter_letter(
        issue.subscribable,
        Rendered(title=issue.title, subject="", html="", text=words),
        kind=Delivery.Kind.ISSUE,
        token=issue.token,
        entries=entries,
        web_url=issue_url(issue),
        at=issue.published_at,
    )
