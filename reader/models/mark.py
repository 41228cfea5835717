"""What a reader wants to find again, and what undoes their last marking."""

from django.db import models
from django.utils import timezone

from reader.models.entry import Entry
from reader.models.reader import Reader


class Star(models.Model):
    """A post that is kept for its reader, whatever becomes of it in timelines."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="stars", db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="stars")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(name="star_once", fields=["reader", "entry"]),)
        indexes = (models.Index(name="star_of_reader", fields=["reader", "-at", "-id"]),)

    def __str__(self) -> str:
        return f"entry {self.entry_id}"


class Marking(models.Model):
    """The last posts that a reader marked as read at once: the next one replaces it."""

    reader = models.OneToOneField(Reader, on_delete=models.CASCADE, primary_key=True, related_name="marking")
    # Pages name it by this: what is undone is what the page says, and nothing later.
    name = models.CharField(max_length=16)
    # The keys of the places that were unread, as reader.timelines.undo packs them.
    places = models.BinaryField()
    count = models.PositiveIntegerField()
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name
