"""The last document of a feed: previews and un-excluding read it, and the next plan its order."""

from django.db import models

from feeds.models.feed import Feed


class FeedDocument(models.Model):
    """`body` is zlib-compressed; `order` is the concatenation of 16-byte guid digests, as they stood."""

    feed = models.OneToOneField(Feed, on_delete=models.CASCADE, primary_key=True, related_name="document")
    body = models.BinaryField()
    headers = models.JSONField(default=dict)
    # What the channel says of itself: see feeds.parsing.entry.Channel.
    channel = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    order = models.BinaryField()
    fetched_at = models.DateTimeField()
    # When the server last sent it, rather than say that it has not changed (304).
    sent_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"document of feed {self.feed_id}"
