"""An issue: a completed collection, rendered once for everybody."""

from django.db import models
from django.db.models import Q, Value
from django.utils import timezone

from delivery.rules.audience import NARROWING, is_for_some
from feeds.models import Item
from subscriptions.models import Subscribable

# A letter to some of the readers is theirs: it stands on no page of the newsletter.
FOR_SOME = Q(audience__has_any_keys=list(NARROWING))


class Issue(models.Model):
    """The form letter. `placeholders` maps a field's name to the token that stands for it in the texts."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="issues")
    within_type_id = models.CharField(max_length=64)
    # Whom it is for: see delivery/issues/audience.py.
    audience = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    token = models.CharField(max_length=32, help_text="Random; every Message-ID is derived from it.")
    title = models.TextField(help_text="What the archive calls it.")
    subject = models.TextField()
    html = models.TextField()
    text = models.TextField()
    placeholders = models.JSONField(default=dict)
    period_start = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField(null=True, blank=True)
    # What an editor wrote; `subject` is what was made of it. Notes are Markdown.
    own_subject = models.TextField(blank=True, default="", db_default="")
    note_top = models.TextField(blank=True, default="", db_default="")
    note_foot = models.TextField(blank=True, default="", db_default="")
    # Edits of a draft: how many there were, and the latest with what it takes to undo them.
    revision = models.PositiveIntegerField(default=0, db_default=0)
    steps = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)
    # Not published yet: when it goes by itself. Empty: it waits for an admin's click.
    release_at = models.DateTimeField(null=True, blank=True)
    # Not published yet: it waits for its newsletter's first reader. Published: it waited in vain.
    awaits_reader = models.BooleanField(default=False, db_default=False, editable=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_reason = models.TextField(blank=True, default="", db_default="")
    # Dropped by an admin: as a draft it never goes, later the rest of it does not.
    cancelled_at = models.DateTimeField(null=True, blank=True)
    # When its last letter had ended, and webhooks were told. An issue is told of once.
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)
    # When its html and text were forgotten; the archive is rendered from its posts.
    pruned_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-pk")
        constraints = (models.UniqueConstraint(name="issue_once", fields=["subscribable", "within_type_id"]),)
        indexes = (
            models.Index(
                name="issue_release",
                fields=["release_at"],
                condition=models.Q(published_at=None, release_at__isnull=False),
            ),
            models.Index(
                name="issue_unfinished",
                fields=["published_at"],
                condition=models.Q(published_at__isnull=False, finished_at=None),
            ),
            models.Index(
                name="issue_for_first_reader",
                fields=["subscribable"],
                condition=models.Q(awaits_reader=True, published_at=None),
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_for_some(self) -> bool:
        """Whether it is for some of its newsletter's readers: then it is not in the archive."""
        return is_for_some(self.audience)


class IssueItem(models.Model):
    """A post as it stood in that issue, frozen: compose, archive and RSS read it."""

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="issue_items")
    item = models.ForeignKey(Item, on_delete=models.SET_NULL, null=True, related_name="issue_items")
    position = models.PositiveIntegerField()
    entry = models.JSONField()
    # Of the text in its feed that it was made of (Item.content_hash).
    content_hash = models.CharField(max_length=80, blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ("issue", "position")
        constraints = (
            models.UniqueConstraint(name="issue_item_position", fields=["issue", "position"]),
            models.UniqueConstraint(name="issue_item_once", fields=["issue", "item"]),
        )

    def __str__(self) -> str:
        return str(self.entry.get("title", ""))


class SetAside(models.Model):
    """A post that an editor left out of an issue while it was a draft: kept, so that it can be put back."""

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="set_aside")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="set_aside")
    # Where it stood.
    position = models.PositiveIntegerField(default=0)
    entry = models.JSONField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("issue", "position", "pk")
        constraints = (models.UniqueConstraint(name="set_aside_once", fields=["issue", "item"]),)

    def __str__(self) -> str:
        return str(self.entry.get("title", ""))


class IssueCard(models.Model):
    """The titles of an issue's posts in their order, and its words (delivery.rules.search_words).

    It stands beside the issue so that lists of issues need not carry it along.
    """

    # Without a constraint: the release before knows no cards, and deletes issues.
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, primary_key=True, related_name="card", db_constraint=False
    )
    titles = models.JSONField(default=list)
    words = models.TextField(default="")

    def __str__(self) -> str:
        return str(self.issue)


LETTER_STATES = ("draft", "scheduled", "sent")


class Broadcast(models.Model):
    """What its editor typed. It is a draft, or scheduled (`send_at`), or sent (`issue`)."""

    subscribable = models.ForeignKey(
        Subscribable, on_delete=models.CASCADE, related_name="broadcasts", verbose_name="newsletter"
    )
    subject = models.CharField(max_length=200, blank=True, default="")
    markdown = models.TextField("text", blank=True, default="")
    # Whom it is for: see delivery/issues/audience.py.
    audience = models.JSONField(default=dict, editable=False)
    author = models.CharField(max_length=150, blank=True, default="")
    # Counts the changes: who saves or sends names the one they have seen.
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    send_at = models.DateTimeField(null=True, blank=True, editable=False)
    # A scheduled one that could not be made is tried again.
    failures = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    next_try_at = models.DateTimeField(null=True, blank=True, editable=False)
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, null=True, blank=True, editable=False, related_name="broadcast"
    )

    class Meta:
        verbose_name = "letter"
        verbose_name_plural = "letters"
        ordering = ("-changed_at", "-pk")
        indexes = (
            models.Index(
                name="broadcast_scheduled",
                fields=["next_try_at"],
                condition=Q(issue=None, next_try_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.subject or "Untitled letter"

    @property
    def state(self) -> str:
        """One of LETTER_STATES."""
        if self.issue_id is not None:
            return "sent"
        return "draft" if self.send_at is None else "scheduled"
