"""Links that let people in to everything of their address."""

from django.db import models

from subscriptions.models.destination import Destination


class SignInRequest(models.Model):
    """Somebody asked for a link for this address, known or not. A worker looks, and deletes the wish."""

    core = models.CharField(max_length=512)
    # Who asked, as limits count them (subscriptions.rules.limits).
    network = models.CharField(max_length=64)
    language = models.CharField(max_length=35, blank=True)
    asked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"sign-in wish {self.pk}"


class SignIn(models.Model):
    """A link that was mailed: good once, for a short while. Of the link itself only a digest is kept."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="sign_ins")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in {self.pk} of {self.destination_id}"
