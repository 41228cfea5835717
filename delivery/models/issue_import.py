"""Imports of old issues, which other programs sent."""

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q, QuerySet

from common.uploads import Upload, UploadPiece
from delivery.models.issue import Issue
from subscriptions.models import Picture, Subscribable


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
