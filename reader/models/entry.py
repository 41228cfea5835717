"""What was posted, once for all who read it."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from common.db.leases import unleased
from feeds.models import Feed, Item
from reader.models.channel import Channel
from reader.models.reader import Reader


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


SEEN = Q(hidden=0)


class TimelineEntryQuerySet(models.QuerySet["TimelineEntry"]):
    def seen(self) -> Self:
        """Those that timelines show."""
        return self.filter(hidden=TimelineEntry.Hidden.SEEN)


class TimelineEntry(models.Model):
    """A post in a channel. Timelines go by (`at`, `pk`), newest first."""

    class Hidden(models.IntegerChoices):
        SEEN = 0
        MUTED = 1
        REMOVED = 2
        DUPLICATE = 3
        WITHDRAWN = 4
        FILTERED = 5

    # (`place_once` serves what is asked by channel alone; all of a reader's rows go channel by channel.)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="places", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="places", db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="places")
    # (Without a constraint: to check it would wait for the poll that has the feed's row, which waits for us.)
    feed = models.ForeignKey(
        Feed, on_delete=models.SET_NULL, null=True, related_name="places", db_constraint=False
    )
    # Where it stands in the channel: when it came, or for what was there before, when it was published.
    at = models.DateTimeField()
    # When it came into the channel, whatever its date: clients of Google Reader ask for what came since.
    came_at = models.DateTimeField(db_default=Now())
    hidden = models.PositiveSmallIntegerField(choices=Hidden, default=Hidden.SEEN)
    # While hidden: whether it is unread again once it is seen.
    was_unread = models.BooleanField(default=False)

    objects = TimelineEntryQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="place_once", fields=["channel", "entry"]),)
        indexes = (
            models.Index(name="place_in_channel", fields=["channel", "-at", "-id"], condition=Q(hidden=0)),
            models.Index(
                name="place_of_feed", fields=["channel", "feed", "-at", "-id"], condition=Q(hidden=0)
            ),
            models.Index(name="place_of_reader", fields=["reader", "-at", "-id"], condition=Q(hidden=0)),
            models.Index(
                name="place_as_it_came", fields=["reader", "-came_at", "-id"], condition=Q(hidden=0)
            ),
        )

    def __str__(self) -> str:
        return f"entry {self.entry_id} in channel {self.channel_id}"


class Unread(models.Model):
    """A row only while its place is seen and unread.

    To mark posts read deletes rows. As an UPDATE of a flag in an index it takes forty times as long.
    """

    place = models.OneToOneField(
        TimelineEntry, on_delete=models.CASCADE, primary_key=True, related_name="unread"
    )
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="+", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="+", db_index=False)
    # As its place's.
    at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(name="unread_in_channel", fields=["channel", "-at", "-place"]),
            models.Index(name="unread_of_reader", fields=["reader", "-at", "-place"]),
        )

    def __str__(self) -> str:
        return f"place {self.place_id}"


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


class MentionQuerySet(models.QuerySet["Mention"]):
    def due(self, now: datetime) -> Self:
        """Those whose source has to be looked at."""
        return self.filter(unleased(now), due_at__lte=now)


class Mention(models.Model):
    """A webmention (www.w3.org/TR/webmention). Rows with a `due_at` are the queue."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    source = models.TextField()
    target = models.TextField()
    # Hex SHA-256 of both addresses, as they are compared.
    pair = models.CharField(max_length=64)
    # What the notifications show of it; null while the source was never found to link to the target.
    entry = models.OneToOneField(Entry, on_delete=models.SET_NULL, null=True, related_name="mention")
    received_at = models.DateTimeField(default=timezone.now)
    # When the source is looked at next; null: not until somebody says that it changed.
    due_at = models.DateTimeField(null=True, default=timezone.now)
    checked_at = models.DateTimeField(null=True)
    # Looks in a row at a server that did not answer.
    attempts = models.PositiveIntegerField(default=0)
    # Why it is not shown, for the log and for whoever asks.
    problem = models.TextField(default="")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    objects = MentionQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="mention_once", fields=["reader", "pair"]),)
        indexes = (
            models.Index(name="mention_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            models.Index(name="mention_refused", fields=["checked_at"], condition=Q(entry=None)),
        )

    def __str__(self) -> str:
        return f"{self.source} about {self.target}"
