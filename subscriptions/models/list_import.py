from django.db import models
from django.db.models import Q
from django.utils import timezone

from subscriptions.models.subscribable import Subscribable
from subscriptions.models.subscription import Subscription


class ListImport(models.Model):
    """`position` and `line` advance in the transaction that stores the lines."""

    class State(models.TextChoices):
        UPLOADING = "uploading", "being uploaded"
        CHECKING = "checking", "being looked at"
        ASKING = "asking", "asks what its columns mean"
        CHECKED = "checked", "waiting for your word"
        IMPORTING = "importing", "being taken over"
        DONE = "done", "taken over"
        STOPPED = "stopped", "stopped"
        UNUSABLE = "unusable", "not a list"

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="list_imports")
    file_name = models.CharField("file", max_length=200)
    size = models.PositiveBigIntegerField(default=0)
    by = models.CharField("uploaded by", max_length=150, blank=True, default="")
    # Defaults of the list.
    status = models.CharField(max_length=12, default=Subscription.Status.UNCONFIRMED)
    words = models.TextField(blank=True, default="")
    # Meanings by column name, and the order of day and month.
    meanings = models.JSONField(null=True, blank=True)
    dates = models.CharField(max_length=3, blank=True, default="", db_default="")

    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    trouble = models.TextField(blank=True, default="")
    created_at = models.DateTimeField("uploaded", default=timezone.now)
    # Start of the current pass.
    reading_since = models.DateTimeField(null=True, blank=True, editable=False)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    names = models.JSONField(default=list)
    findings = models.JSONField(null=True, blank=True, editable=False)
    program = models.CharField(max_length=40, blank=True, default="")
    sample = models.JSONField(default=list)

    position = models.PositiveBigIntegerField(default=0)
    line = models.PositiveBigIntegerField(default=0)
    lines = models.PositiveBigIntegerField(default=0)
    added = models.PositiveBigIntegerField(default=0)
    updated = models.PositiveBigIntegerField(default=0)
    unchanged = models.PositiveBigIntegerField(default=0)
    repeated = models.PositiveBigIntegerField(default=0)
    refused = models.PositiveBigIntegerField(default=0)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-pk",)
        verbose_name = "import"
        indexes = (
            models.Index(
                name="list_import_open", fields=["id"], condition=Q(state__in=("checking", "importing"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.file_name} → {self.subscribable}"


class ListPart(models.Model):
    """Compressed piece of the file."""

    list_import = models.ForeignKey(
        ListImport, on_delete=models.CASCADE, related_name="parts", db_index=False
    )
    start = models.PositiveBigIntegerField()
    size = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(name="list_part_once", fields=["list_import", "start"]),)

    def __str__(self) -> str:
        return f"{self.list_import_id} from {self.start}"


class RefusedLine(models.Model):
    list_import = models.ForeignKey(
        ListImport, on_delete=models.CASCADE, related_name="refused_lines", db_index=False
    )
    line = models.PositiveBigIntegerField()
    reason = models.TextField()
    cells = models.JSONField(default=list)

    class Meta:
        constraints = (models.UniqueConstraint(name="refused_line_once", fields=["list_import", "line"]),)

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}"
