from django.db import models
from django.db.models import Q
from django.utils import timezone

ONLY = 1


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
