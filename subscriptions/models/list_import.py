from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.uploads import Upload, UploadPiece
from subscriptions.models.subscribable import Subscribable

ONLY = 1


class ListImport(Upload):
    """`position` and `line` advance in the transaction that stores the lines before."""

    class State(models.TextChoices):
        UPLOADING = "uploading", "being uploaded"
        CHECKING = "checking", "being checked"
        ASKING = "asking", "asks about its columns"
        CHECKED = "checked", "ready to import"
        IMPORTING = "importing", "being imported"
        DONE = "done", "imported"
        STOPPED = "stopped", "stopped"
        UNUSABLE = "unusable", "not usable"
        UNDONE = "undone", "undone"

    OPEN = (State.CHECKING, State.IMPORTING)
    WAITING = (State.ASKING, State.CHECKED)
    KEPT_FOR = timedelta(days=30)
    UNDONE_FOR = timedelta(days=7)

    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="list_imports")
    # The most that anybody becomes, or "", and the consent text of lines without their own.
    status = models.CharField(max_length=12, blank=True, default="")
    words = models.TextField(blank=True, default="")
    # Changes its newsletter only: no tags, and who must not be emailed is unsubscribed from it.
    is_limited = models.BooleanField(default=False, db_default=False, editable=False)
    # Meanings by column name, and the order of day and month.
    meanings = models.JSONField(null=True, blank=True)
    dates = models.CharField(max_length=3, blank=True, default="", db_default="")
    # Statuses by word, and the encoding of lines that are not UTF-8.
    statuses = models.JSONField(null=True, blank=True)
    encoding = models.CharField(max_length=20, blank=True, default="", db_default="")
    # Start of the current pass, to compute the pace.
    reading_since = models.DateTimeField(null=True, blank=True, editable=False)
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

    class Meta(Upload.Meta):
        verbose_name = "import"
        indexes = (
            models.Index(
                name="list_import_open", fields=["id"], condition=Q(state__in=("checking", "importing"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.file_name} → {self.subscribable}"


class ListChange(models.Model):
    """Changes by a batch of an import, so that it can be undone for ListImport.UNDONE_FOR.

    `changes`: "added" and "changed" subscriptions (see lists/undo.py), "suppressed" and "tagged" addresses.
    """

    list_import = models.ForeignKey(ListImport, on_delete=models.CASCADE, related_name="changes")
    changes = models.JSONField()

    def __str__(self) -> str:
        return f"changes of import {self.list_import_id}"


class ListPart(UploadPiece):
    upload = models.ForeignKey(ListImport, on_delete=models.CASCADE, related_name="pieces", db_index=False)


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


class Picture(models.Model):
    """Permanent, as sent letters show it. Named by its hash.

    In the database, because backups contain nothing else, and for several web servers.
    """

    name = models.CharField(max_length=48, primary_key=True)
    media_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    data = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class SiteSettings(models.Model):
    """The site's appearance. Empty: the default.

    In this app because later apps, the directory and sign-in mails need it.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    name = models.CharField(
        max_length=100, blank=True, default="", help_text="The site’s name. If empty, the domain."
    )
    about = models.CharField(
        max_length=300,
        blank=True,
        default="",
        help_text="A sentence under the name, above the list of newsletters.",
    )
    logo = models.ForeignKey(Picture, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    logo_says_name = models.BooleanField(
        "the name is in the logo", default=False, help_text="If set, the logo replaces the name."
    )
    accent = models.CharField(
        max_length=7,
        blank=True,
        default="",
        help_text="Sets the colour of links and buttons, such as #1a5fb4. A newsletter may have its own.",
    )
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="The admin’s time zone, such as Europe/Berlin. If empty, TIME_ZONE.",
    )
    imprint_url = models.URLField(
        "imprint",
        max_length=500,
        blank=True,
        default="",
        help_text="URL of a page that says who runs the site.",
    )
    privacy_url = models.URLField(
        "privacy",
        max_length=500,
        blank=True,
        default="",
        help_text="URL of a page that says what you do with subscribers’ data.",
    )

    class Meta:
        verbose_name = verbose_name_plural = "site settings"
        constraints = (models.CheckConstraint(name="site_settings_only_one", condition=Q(id=ONLY)),)

    def __str__(self) -> str:
        return self.name or "Site settings"
