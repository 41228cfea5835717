"""What was posted, once for all who read it."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from feeds.models import Feed, Item


class EntryQuerySet(models.QuerySet["Entry"]):
    def due(self, now: datetime) -> Self:
        """Whose places have to be brought up to date."""
        return self.filter(due_at__lte=now)


class Entry(models.Model):
    """Our own copy of a post: items lose their content once they were sent, or never have any.

    It stays for ever, without `jf2` and `text` once no timeline shows it: a post that was forgotten never
    comes back as new.
    """

    item = models.OneToOneField(Item, on_delete=models.SET_NULL, null=True, related_name="reader_entry")
    feed = models.ForeignKey(Feed, on_delete=models.SET_NULL, null=True, related_name="reader_entries")
    # Of all that a reader sees of it: another one is a change.
    hash = models.CharField(max_length=64)
    # As reader.rules.jf2 has it; null once it was forgotten.
    jf2 = models.JSONField(null=True)
    # What is searched, in small letters.
    text = models.TextField(default="")
    link_hash = models.CharField(max_length=32, default="")
    # As reader.rules.authors.author_key has it; "" for nobody.
    author_key = models.CharField(max_length=32, default="")
    kind = models.CharField(max_length=10)
    published = models.DateTimeField(null=True)
    seen_at = models.DateTimeField()
    # Where it stands in timelines, if not where it comes in: it was there before anybody followed its feed.
    sort_at = models.DateTimeField(null=True)
    starts_read = models.BooleanField(default=False)
    # Taken back by its feed before it had settled.
    withdrawn_at = models.DateTimeField(null=True)
    # When it was put into channels for the first time.
    placed_at = models.DateTimeField(null=True)
    # From when on the place stage has something to do with it; null: nothing.
    due_at = models.DateTimeField(null=True)

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "entries"
        indexes = (
            models.Index(name="entry_due", fields=["due_at", "id"], condition=Q(due_at__isnull=False)),
            models.Index(name="entry_link", fields=["link_hash"], condition=~Q(link_hash="")),
            models.Index(name="entry_author", fields=["author_key"], condition=~Q(author_key="")),
            models.Index(name="entry_whole", fields=["seen_at"], condition=Q(jf2__isnull=False)),
        )

    def __str__(self) -> str:
        return f"entry {self.pk}"
