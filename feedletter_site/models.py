from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.functional import cached_property

from common.secrets import SecretsField
from common.uploads import Upload, UploadPiece
from subscriptions.models import Subscribable


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


class Member(models.Model):
    """Role of a user, who is invited until `digest` is used. Without a row, only permissions count."""

    class Role(models.TextChoices):
        EDITOR = "editor", "Editor"
        SENDER = "sender", "Sender"

    # No constraints: the previous release deletes users and newsletters without knowing members.
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, db_constraint=False
    )
    role = models.CharField(max_length=10, choices=Role.choices, blank=True, default="")
    # Without newsletters, a limited member sees none.
    is_limited = models.BooleanField(default=False)
    newsletters = models.ManyToManyField(Subscribable, blank=True, related_name="+", db_constraint=False)
    # Hex SHA-256 of the invitation's key, or "".
    digest = models.CharField(max_length=64, blank=True, default="")
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.user)

    @cached_property
    def newsletter_keys(self) -> frozenset[int]:
        return frozenset(self.newsletters.values_list("pk", flat=True))


class ApiToken(models.Model):
    """Valid while its maker has the permissions. Only a digest is stored."""

    name = models.CharField(max_length=100, help_text="What uses it, such as “shop” or “backup script”.")
    # Start of the key, for look-ups. `digest` is hex SHA-256.
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(default=list)
    # Empty for tokens made by a command.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens"
    )
    created_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the minute.
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    expires_at = models.DateTimeField("expires", null=True, blank=True)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name


class Figure(models.Model):
    name = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class FirstStep(models.Model):
    """A step that was dismissed, or whose completion is recorded nowhere else."""

    name = models.CharField(max_length=32, primary_key=True)
    is_done = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Stage(models.Model):
    """Last run and tick of a stage. Not cached."""

    name = models.CharField(max_length=64, primary_key=True)
    # A stage that never ran counts as late from here.
    since = models.DateTimeField(db_default=Now())
    ran_at = models.DateTimeField(null=True)
    ticked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Counted(models.Model):
    name = models.CharField(max_length=64)
    label = models.CharField(max_length=64, db_default="")
    count = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="counted_once", fields=["name", "label"]),)

    def __str__(self) -> str:
        return f"{self.name} {self.label}: {self.count}"
