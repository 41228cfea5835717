"""What admins call groups of people: a tag belongs to the address, whatever it gets."""

from django.db import models
from django.utils import timezone

from subscriptions.models.destination import Destination


class SubscriberTag(models.Model):
    """A tag of people. It stays when nobody has it any more: a letter may be waiting for those who will."""

    name = models.CharField(max_length=100)
    # The name as it is compared, whatever its capitals.
    key = models.CharField(max_length=300, unique=True, editable=False)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("key",)
        verbose_name = "tag of subscribers"
        verbose_name_plural = "tags of subscribers"

    def __str__(self) -> str:
        return self.name


class Tagging(models.Model):
    """That somebody has a tag."""

    tag = models.ForeignKey(SubscriberTag, on_delete=models.CASCADE, related_name="taggings", db_index=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="taggings")

    class Meta:
        constraints = (models.UniqueConstraint(name="tagging_once", fields=["tag", "destination"]),)

    def __str__(self) -> str:
        return f"{self.tag_id} of {self.destination_id}"
