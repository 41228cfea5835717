"""Custom templates and themes."""

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from subscriptions.models import Picture, Subscribable

COLOUR = RegexValidator(r"\A#[0-9a-fA-F]{6}\Z", "A colour is written as #1a5fb4.")


class LetterTemplate(models.Model):
    """Version of a newsletter's template. The current one is used; none is overwritten."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="letter_templates")
    # As under templates/letters: issues/digest, mails/confirmation, pages/issue.
    name = models.CharField(max_length=64)
    version = models.PositiveIntegerField(default=1)
    subject = models.CharField(max_length=500, blank=True, default="")
    html = models.TextField()
    text = models.TextField(blank=True, default="")
    is_current = models.BooleanField(default=True)
    note = models.CharField(max_length=200, blank=True, default="")
    author = models.CharField(max_length=150, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("subscribable", "name", "-version")
        constraints = (
            models.UniqueConstraint(
                name="letter_template_version", fields=["subscribable", "name", "version"]
            ),
            models.UniqueConstraint(
                name="letter_template_one_current",
                fields=["subscribable", "name"],
                condition=Q(is_current=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.subscribable}, version {self.version}"


class Theme(models.Model):
    """Colours and fixed texts of a newsletter's letters. Empty: the default."""

    class Style(models.TextChoices):
        SERIF = "serif", "editorial serif"
        SANS = "sans", "clean sans"
        BOLD = "bold", "bold with a header photo"

    subscribable = models.OneToOneField(Subscribable, on_delete=models.CASCADE, related_name="theme")
    style = models.CharField(max_length=5, choices=Style, default=Style.SERIF, db_default=Style.SERIF)
    accent = models.CharField(
        max_length=7,
        blank=True,
        default="",
        validators=[COLOUR],
        help_text="Links, buttons and the line below the name.",
    )
    background = models.CharField(max_length=7, blank=True, default="", validators=[COLOUR])
    logo_url = models.URLField("logo", max_length=500, blank=True, default="")
    logo_alt = models.CharField(
        "logo alt text", max_length=200, blank=True, default="", help_text="Shown with images off."
    )
    logo_width = models.PositiveIntegerField(default=120, help_text="In pixels.")
    # Uploaded pictures take precedence over URLs.
    logo_picture = models.ForeignKey(
        Picture, verbose_name="logo", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    header_picture = models.ForeignKey(
        Picture,
        verbose_name="header picture",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    header_picture_url = models.URLField(
        "header picture", max_length=500, blank=True, default="", db_default=""
    )
    header_picture_alt = models.CharField(
        "header picture alt text", max_length=200, blank=True, default="", db_default=""
    )
    header = models.TextField(blank=True, default="", help_text="A line or two above the posts.")
    footer = models.TextField(blank=True, default="", help_text="A line or two below the posts.")
    postal_address = models.TextField(
        blank=True, default="", help_text="Some countries require one in each email."
    )
    subject = models.CharField(
        "subject pattern",
        max_length=200,
        blank=True,
        default="",
        help_text="Such as {newsletter}: {title}. Also {count} and {date}.",
    )

    def __str__(self) -> str:
        return f"Look of {self.subscribable}"
