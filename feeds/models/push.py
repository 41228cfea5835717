"""What a hub has pushed and no worker has read yet."""

from django.db import models

from feeds.models.hub import HubSubscription


class Push(models.Model):
    """The newest of its subscription: what it took the place of is owed, and read from the feed itself."""

    subscription = models.OneToOneField(
        HubSubscription, on_delete=models.CASCADE, primary_key=True, related_name="push"
    )
    body = models.BinaryField()
    content_type = models.CharField(max_length=200, blank=True, default="")
    # Before its body was read.
    arrived_at = models.DateTimeField()
    # A worker began to read it; should that never end, it is not begun again.
    began_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"push of {self.arrived_at:%Y-%m-%d %H:%M}"
