"""The one row of settings that the whole site wears."""

from django.db import models
from django.db.models import Q

from subscriptions.models.picture import Picture

ONLY = 1


class SiteSettings(models.Model):
    """What readers see of the site beside its newsletters. Empty: the usual.

    It is here, in the first app that shows readers anything: apps import only from their left, and the
    directory and the sign-in mail need it no less than the letters of `delivery`.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    name = models.CharField(max_length=100, blank=True, default="")
    about = models.CharField(max_length=300, blank=True, default="")
    logo = models.ForeignKey(Picture, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    logo_says_name = models.BooleanField("the name is in the logo", default=False)
    accent = models.CharField(max_length=7, blank=True, default="")
    imprint_url = models.URLField("imprint", max_length=500, blank=True, default="")
    privacy_url = models.URLField("privacy", max_length=500, blank=True, default="")

    class Meta:
        verbose_name = verbose_name_plural = "site settings"
        constraints = (models.CheckConstraint(name="site_settings_only_one", condition=Q(id=ONLY)),)

    def __str__(self) -> str:
        return self.name or "Site settings"
