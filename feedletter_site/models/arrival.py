from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.secrets import SecretsField
from common.uploads import Upload, UploadPiece


class Origin(models.Model):
    """Something that was imported from another program.

    `source` and `kind` are words of feedletter_site.migrate_from. `row` is the primary key here; the row may
    be deleted by now, and is not imported again.
    """

    source = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    old_key = models.CharField(max_length=100)
    row = models.BigIntegerField()
    taken_at = models.DateTimeField(default=timezone.now)
    # A run that was cut off has something left to do.
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(name="origin_once", fields=["source", "kind", "old_key"]),)

    def __str__(self) -> str:
        return f"{self.source} {self.kind} {self.old_key}"


class Arrival(Upload):
    """Uploaded database of another program. A new worker resumes after `done` of its `parts`."""

    class State(models.TextChoices):
        UPLOADING = "uploading", "being uploaded"
        LOOKING = "looking", "being checked"
        ASKING = "asking", "waiting for your answer"
        LOOKED = "looked", "ready to import"
        READING = "reading", "its feeds are being read"
        TAKING = "taking", "being imported"
        DONE = "done", "imported"
        STOPPED = "stopped", "stopped"
        UNUSABLE = "unusable", "not usable"

    OPEN = (State.LOOKING, State.READING, State.TAKING)
    WAITING = (State.ASKING, State.LOOKED)
    KEPT_FOR = timedelta(days=365)

    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    # Key of feedletter_site.migrate_from.
    source = models.CharField("from", max_length=20)
    # Fields of migrate_from.records.Options. Its secrets are deleted with the file.
    options = models.JSONField(default=dict)
    secrets = SecretsField()
    # Of migrate_from.records.Question: option, label and choices.
    questions = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    parts = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    # To find new posts.
    is_read = models.BooleanField(default=False)

    class Meta(Upload.Meta):
        verbose_name = "file of another program"
        # Title of the page.
        verbose_name_plural = "import from another program"
        indexes = (
            models.Index(
                name="arrival_open", fields=["id"], condition=Q(state__in=("looking", "reading", "taking"))
            ),
        )

    def end(self, state: str, now: datetime) -> None:
        if state not in self.WAITING:
            self.secrets = {}
        super().end(state, now)


class ArrivalPiece(UploadPiece):
    """`suffix` is "" or that of the source's second file."""

    upload = models.ForeignKey(Arrival, on_delete=models.CASCADE, related_name="pieces", db_index=False)


class ArrivalLine(models.Model):
    arrival = models.ForeignKey(Arrival, on_delete=models.CASCADE, related_name="lines", db_index=False)
    what = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    name = models.TextField()
    words = models.TextField(blank=True, default="")
    count = models.PositiveIntegerField(default=1)

    class Meta:
        indexes = (models.Index(name="arrival_line", fields=["arrival", "what", "id"]),)

    def __str__(self) -> str:
        return f"{self.what}: {self.name}"
