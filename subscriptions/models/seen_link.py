"""Which posts a newsletter over several feeds has carried: a post that two of them bring goes out once."""

from django.db import models

from feeds.models import Item
from subscriptions.models.subscribable import Subscribable


class SeenLink(models.Model):
    """The item by which a canonical link went into a newsletter. Kept as long as the item is."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="carried")
    link_hash = models.CharField(max_length=32)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(name="carried_once", fields=["subscribable", "link_hash"]),)

    def __str__(self) -> str:
        return f"{self.item} in {self.subscribable}"
