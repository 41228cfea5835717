"""What a hub has pushed and no worker has read yet."""

from django.db import models

from feeds.models.hub import HubSubscription


class Push(models.Model):
    """The newest push of its subscription. One that it replaced is owed, and read from the feed itself."""

    subscription = models.OneToOneField(
        HubSubscription, on_delete=models.CASCADE, primary_key=True, related_name="push"
    )
    body = models.BinaryField()
    content_type = models.CharField(max_length=200, blank=True, default="")
    # Before its body was read.
    arrived_at = models.DateTimeField()
    # When a worker began to read it. If that never ends, the push is not read a second time.
    began_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"push of {self.arrived_at:%Y-%m-%d %H:%M}"
