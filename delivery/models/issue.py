"""Issues and broadcasts.

Imports of old issues, which other programs sent.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.utils import timezone

from common.uploads import Upload, UploadPiece
from delivery.rules.audience import NARROWING, is_for_some
from feeds.models import Item
from subscriptions.models import Picture, Subscribable

# On none of the newsletter's pages: letters to some readers, and what an editor took out of the archive.
NOT_ON_PAGES = Q(audience__has_any_keys=list(NARROWING)) | Q(is_hidden=True)
# Not old issues, which are only in the archive: they count nowhere, and nobody was to get them from here.
SENT_HERE = Q(issue_import=None)
# An editor’s email becomes an issue with this and its key.
LETTER_GUID = "letter-"
LETTER_STATES = ("draft", "scheduled", "sent", "series")


class Issue(models.Model):
    """Form letter, rendered once. `placeholders`: field name → its token in the texts."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="issues")
    within_type_id = models.CharField(max_length=64)
    # See delivery/issues/audience.py.
    audience = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    token = models.CharField(max_length=32, help_text="Random; every Message-ID is derived from it.")
    title = models.TextField(help_text="What the archive calls it.")
    subject = models.TextField()
    html = models.TextField()
    text = models.TextField()
    placeholders = models.JSONField(default=dict)
    period_start = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField(null=True, blank=True)
    # As typed by an editor; `subject` is the result. Notes are Markdown.
    own_subject = models.TextField(blank=True, default="", db_default="")
    note_top = models.TextField(blank=True, default="", db_default="")
    note_foot = models.TextField(blank=True, default="", db_default="")
    # Safe html below the note: corrections of earlier posts.
    corrected = models.TextField(blank=True, default="", db_default="", editable=False)
    # Number of the text. Edits after publication make new ones: see IssueVersion.
    version = models.SmallIntegerField(default=0, db_default=0, editable=False)
    is_hidden = models.BooleanField(default=False, db_default=False, editable=False)
    # Edits: their number, and the latest with data for undoing.
    revision = models.PositiveIntegerField(default=0, db_default=0)
    steps = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)
    # Unpublished: when it is sent automatically. Empty: on approval.
    release_at = models.DateTimeField(null=True, blank=True)
    # Unpublished: waits for the newsletter's first reader. Published: none came.
    awaits_reader = models.BooleanField(default=False, db_default=False, editable=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_reason = models.TextField(blank=True, default="", db_default="")
    # A draft is never sent; of a published issue, the rest is not.
    cancelled_at = models.DateTimeField(null=True, blank=True)
    # When its last letter ended and webhooks were called. That happens once.
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)
    # When html and text were deleted; the archive is rendered from its posts.
    pruned_at = models.DateTimeField(null=True, blank=True)
    # Of an old issue, which another program sent: published, finished and pruned from the beginning.
    issue_import = models.ForeignKey(
        "delivery.IssueImport",
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        editable=False,
        related_name="issues",
    )

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
        return is_for_some(self.audience)

    @property
    def has_page(self) -> bool:
        """Return whether it is on its newsletter's pages, if that has any."""
        return not self.is_for_some and not self.is_hidden


class IssueVersion(models.Model):
    """Text that an edit replaced after publication, for deliveries with its number. Never changed."""

    # No constraint: the previous release deletes issues without knowing versions.
    issue = models.ForeignKey(
        Issue, on_delete=models.CASCADE, related_name="versions", db_index=False, db_constraint=False
    )
    version = models.SmallIntegerField()
    title = models.TextField()
    subject = models.TextField()
    html = models.TextField()
    text = models.TextField()
    placeholders = models.JSONField(default=dict)
    # Its posts, as in IssueItem.entry.
    entries = models.JSONField(default=list)
    replaced_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(name="issue_version_once", fields=["issue", "version"]),)

    def __str__(self) -> str:
        return f"{self.title} ({self.version})"


class IssueItem(models.Model):
    """Post frozen as in the issue, for composing, archive and RSS."""

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="issue_items")
    item = models.ForeignKey(Item, on_delete=models.SET_NULL, null=True, related_name="issue_items")
    position = models.PositiveIntegerField()
    entry = models.JSONField()
    # Item.content_hash of the text it was made of.
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
    """Post that an editor left out of a draft, kept to be put back."""

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="set_aside")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="set_aside")
    position = models.PositiveIntegerField(default=0)
    entry = models.JSONField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("issue", "position", "pk")
        constraints = (models.UniqueConstraint(name="set_aside_once", fields=["issue", "item"]),)

    def __str__(self) -> str:
        return str(self.entry.get("title", ""))


class ToldCorrection(models.Model):
    """Correction that an issue tells; a discarded draft counts. `seen_at` is an ItemVersion's."""

    # No constraints: the previous release deletes issues and items without knowing these.
    issue = models.ForeignKey(
        Issue, on_delete=models.CASCADE, related_name="told_corrections", db_index=False, db_constraint=False
    )
    item = models.ForeignKey(
        Item, on_delete=models.CASCADE, related_name="told_corrections", db_constraint=False
    )
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(name="told_correction_once", fields=["issue", "item"]),)

    def __str__(self) -> str:
        return f"{self.item} in {self.issue}"


class IssueCard(models.Model):
    """Titles of an issue's posts, address of their first picture, words to search for.

    A separate table, so that lists of issues need not load it.
    """

    # No constraint: the previous release deletes issues without knowing cards.
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, primary_key=True, related_name="card", db_constraint=False
    )
    titles = models.JSONField(default=list)
    picture = models.TextField(default="", db_default="")
    words = models.TextField(default="")

    def __str__(self) -> str:
        return str(self.issue)


class Broadcast(models.Model):
    """Letter typed by an editor: draft, scheduled (`send_at`) or sent (`issue`).

    One with a `series_place` belongs to the series of its newsletter; with `issue` it is switched on.
    """

    subscribable = models.ForeignKey(
        Subscribable, on_delete=models.CASCADE, related_name="broadcasts", verbose_name="newsletter"
    )
    subject = models.CharField(max_length=200, blank=True, default="")
    markdown = models.TextField("text", blank=True, default="")
    # See delivery/issues/audience.py.
    audience = models.JSONField(default=dict, editable=False)
    author = models.CharField(max_length=150, blank=True, default="")
    # Number of changes: saving and sending require the version that was seen.
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    send_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Rendering of a scheduled one is retried after errors.
    failures = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    next_try_at = models.DateTimeField(null=True, blank=True, editable=False)
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, null=True, blank=True, editable=False, related_name="broadcast"
    )

    series_place = models.PositiveSmallIntegerField(null=True, blank=True, editable=False)
    # After the email before it, or after the sign-up.
    series_days = models.PositiveSmallIntegerField(default=1, db_default=1, editable=False)
    # A post of the archive instead of a text: an issue and one of its items.
    post_issue = models.ForeignKey(
        Issue,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    post_item = models.ForeignKey(
        Item,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )

    class Meta:
        verbose_name = "email"
        verbose_name_plural = "emails"
        ordering = ("-changed_at", "-pk")
        indexes = (
            models.Index(
                name="broadcast_scheduled",
                fields=["next_try_at"],
                condition=Q(issue=None, next_try_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.subject or "Untitled email"

    @property
    def state(self) -> str:
        """Return one of LETTER_STATES."""
        if self.series_place is not None:
            return "series"
        if self.issue_id is not None:
            return "sent"
        return "draft" if self.send_at is None else "scheduled"


class IssueImport(Upload):
    """Uploaded export. A new worker resumes after `done` of its `parts`, which are issues."""

    class State(models.TextChoices):
        UPLOADING = "uploading", "being uploaded"
        LOOKING = "looking", "being read"
        LOOKED = "looked", "ready to import"
        TAKING = "taking", "being imported"
        DONE = "done", "imported"
        STOPPED = "stopped", "stopped"
        UNUSABLE = "unusable", "can’t be used"
        UNDOING = "undoing", "being undone"
        UNDONE = "undone", "undone"

    class Pictures(models.TextChoices):
        KEEP = "keep", "Copy them to this site"
        LINK = "link", "Leave them where they are"

    OPEN = (State.LOOKING, State.TAKING, State.UNDOING)
    WAITING = (State.LOOKED,)
    KEPT_FOR = timedelta(days=365)

    issues: Any
    lines: Any
    pictures_kept: Any

    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    subscribable = models.ForeignKey(
        Subscribable, on_delete=models.CASCADE, related_name="issue_imports", verbose_name="newsletter"
    )
    program = models.CharField("from", max_length=20, blank=True, default="")
    pictures = models.CharField(max_length=4, choices=Pictures, default=Pictures.KEEP)
    # Of the old site, for exports that leave it out.
    address = models.CharField(max_length=500, blank=True, default="")
    with_paid = models.BooleanField(default=False)
    with_private = models.BooleanField(default=False, db_default=False)
    parts = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)

    class Meta(Upload.Meta):
        verbose_name = "import of old issues"
        verbose_name_plural = "imports of old issues"
        indexes = (
            models.Index(
                name="issue_import_open",
                fields=["id"],
                condition=Q(state__in=("looking", "taking", "undoing")),
            ),
        )

    @classmethod
    def forgettable(cls, now: datetime) -> "QuerySet[IssueImport]":
        """Imports whose issues are here can still be undone."""
        return super().forgettable(now).filter(~Exists(Issue.objects.filter(issue_import=OuterRef("pk"))))


class IssueImportPiece(UploadPiece):
    upload = models.ForeignKey(IssueImport, on_delete=models.CASCADE, related_name="pieces", db_index=False)


class IssueImportLine(models.Model):
    """Result for one issue of the export, with the reason."""

    class Result(models.TextChoices):
        REFUSED = "refused", "not imported"
        CHANGED = "changed", "imported with changes"
        TAKEN = "taken", "imported"
        THERE = "there", "here already"

    upload = models.ForeignKey(IssueImport, on_delete=models.CASCADE, related_name="lines", db_index=False)
    result = models.CharField(max_length=10, choices=Result)
    title = models.TextField()
    at = models.DateTimeField(null=True)
    words = models.TextField(blank=True, default="")

    class Meta:
        indexes = (models.Index(name="issue_import_line", fields=["upload", "result", "id"]),)

    def __str__(self) -> str:
        return f"{self.result}: {self.title}"


class IssueImportPicture(models.Model):
    """Picture that an import needed; without `picture` if it couldn't be fetched."""

    upload = models.ForeignKey(
        IssueImport, on_delete=models.CASCADE, related_name="pictures_kept", db_index=False
    )
    # SHA-256 of its old address.
    address_hash = models.CharField(max_length=64)
    picture = models.ForeignKey(Picture, on_delete=models.CASCADE, null=True, related_name="+")
    size = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(name="issue_import_picture_once", fields=["upload", "address_hash"]),
        )

    def __str__(self) -> str:
        return self.address_hash
