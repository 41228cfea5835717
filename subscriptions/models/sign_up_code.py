"""A code that was sent to a phone, for whoever signed it up to type."""

from django.db import models

from subscriptions.models.destination import Destination


class SignUpCode(models.Model):
    """The one that is open for a destination. The code itself stands nowhere: it is made of the nonce and our
    key (subscriptions.subscribers.codes)."""

    # Without a constraint: the release before knows no codes, and deletes destinations.
    destination = models.OneToOneField(
        Destination,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sign_up_code",
        db_constraint=False,
    )
    nonce = models.CharField(max_length=32)
    # Keys of the subscriptions that it confirms.
    subscriptions = models.JSONField(default=list)
    tries = models.PositiveSmallIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"for {self.destination_id}"
