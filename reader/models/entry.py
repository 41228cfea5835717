from datetime import datetime
from typing import Self, TypeAlias

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from common.db.leases import unleased
from feeds.models import Feed, Item
from reader.models.channel import Channel
from reader.models.reader import Reader
from reader.rules import placement


class EntryQuerySet(models.QuerySet["Entry"]):
    def due(self, now: datetime) -> Self:
        return self.filter(due_at__lte=now)


class Entry(models.Model):
    """Copy of a post, since items lose their content once sent, or never have any.

    Rows stay for ever, without `jf2` and `text` once no timeline shows the post: it must not return as new.
    """

    item = models.OneToOneField(Item, on_delete=models.SET_NULL, null=True, related_name="reader_entry")
    feed = models.ForeignKey(Feed, on_delete=models.SET_NULL, null=True, related_name="reader_entries")
    # Of everything that readers see.
    hash = models.CharField(max_length=64)
    # See reader.rules.jf2; null once forgotten.
    jf2 = models.JSONField(null=True)
    text = models.TextField(default="")
    link_hash = models.CharField(max_length=32, default="")
    # See reader.rules.jf2; "" for nobody.
    author_key = models.CharField(max_length=32, default="")
    kind = models.CharField(max_length=10)
    published = models.DateTimeField(null=True)
    seen_at = models.DateTimeField()
    # Position in timelines, for posts from before the first follow.
    sort_at = models.DateTimeField(null=True)
    starts_read = models.BooleanField(default=False)
    # By its feed, before it had settled.
    withdrawn_at = models.DateTimeField(null=True)
    # First put into channels.
    placed_at = models.DateTimeField(null=True)
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


class TimelineEntryQuerySet(models.QuerySet["TimelineEntry"]):
    def seen(self) -> Self:
        return self.filter(hidden=TimelineEntry.Hidden.SEEN)


class TimelineEntry(models.Model):
    """Post in a channel, ordered by (`at`, `pk`), descending."""

    Hidden: TypeAlias = placement.Hidden

    # `place_once` serves queries by channel; a reader's rows are deleted channel by channel.
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="places", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="places", db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="places")
    # Checking a constraint would wait for the poll that locks the feed's row, and that waits for us.
    feed = models.ForeignKey(
        Feed, on_delete=models.SET_NULL, null=True, related_name="places", db_constraint=False
    )
    # When it arrived, or was published if that was before the follow.
    at = models.DateTimeField()
    # Google Reader clients ask for posts since then.
    came_at = models.DateTimeField(db_default=Now())
    hidden = models.PositiveSmallIntegerField(
        choices=[(one.value, one.name.title()) for one in Hidden], default=Hidden.SEEN
    )
    # Whether showing a hidden place makes it unread.
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
    """Exists only while its place is seen and unread.

    Marking deletes rows: updating an indexed flag takes forty times as long.
    """

    place = models.OneToOneField(
        TimelineEntry, on_delete=models.CASCADE, primary_key=True, related_name="unread"
    )
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="+", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(name="unread_in_channel", fields=["channel", "-at", "-place"]),
            models.Index(name="unread_of_reader", fields=["reader", "-at", "-place"]),
        )

    def __str__(self) -> str:
        return f"place {self.place_id}"


class Star(models.Model):
    """Post that is kept when timelines drop it."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="stars", db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="stars")
    at = models.DateTimeField(default=timezone.now)
    # The reader's words in their picks.
    note = models.TextField(default="", db_default="")
    # Separated by ", ".
    tags = models.TextField(default="", db_default="")

    class Meta:
        constraints = (models.UniqueConstraint(name="star_once", fields=["reader", "entry"]),)
        indexes = (models.Index(name="star_of_reader", fields=["reader", "-at", "-id"]),)

    def __str__(self) -> str:
        return f"entry {self.entry_id}"


class Marking(models.Model):
    """Posts marked read at once. The next marking replaces it."""

    reader = models.OneToOneField(Reader, on_delete=models.CASCADE, primary_key=True, related_name="marking")
    # Pages undo by name, so never a later marking.
    name = models.CharField(max_length=16)
    # Packed by reader.timelines.marks.
    places = models.BinaryField()
    count = models.PositiveIntegerField()
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class MentionQuerySet(models.QuerySet["Mention"]):
    def due(self, now: datetime) -> Self:
        return self.filter(unleased(now), due_at__lte=now)


class Mention(models.Model):
    """Webmention (www.w3.org/TR/webmention). Rows with a `due_at` are the queue."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    source = models.TextField()
    target = models.TextField()
    # Hex SHA-256 of both addresses, normalized.
    pair = models.CharField(max_length=64)
    # Null until a link to the target was found.
    entry = models.OneToOneField(Entry, on_delete=models.SET_NULL, null=True, related_name="mention")
    received_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True, default=timezone.now)
    checked_at = models.DateTimeField(null=True)
    # Consecutive fetches without an answer.
    attempts = models.PositiveIntegerField(default=0)
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


class CompositionQuerySet(models.QuerySet["Composition"]):
    def due(self, now: datetime) -> Self:
        return self.filter(unleased(now), due_at__lte=now)


class Composition(models.Model):
    """Post for a reader's site. Rows with a `due_at` are the queue.

    KEPT is a draft. WAITING: nothing was sent yet. SENDING: no response yet; if the worker dies, it becomes
    UNSURE. Then it is looked up on the site, and sent again only if a person says so. POSTED and REFUSED are
    the site's responses.
    """

    class State(models.TextChoices):
        KEPT = "kept", "kept"
        WAITING = "waiting", "waiting"
        SENDING = "sending", "sending"
        UNSURE = "unsure", "unsure"
        POSTED = "posted", "posted"
        REFUSED = "refused", "refused"

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="compositions", db_index=False)
    # Pressing twice makes one post.
    key = models.CharField(max_length=80)
    entry = models.ForeignKey(Entry, on_delete=models.SET_NULL, null=True, related_name="compositions")
    # A reader.rules.micropub.Said.
    said = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.KEPT)
    made_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    # "" if the site sent none.
    location = models.TextField(default="")
    # In the site's words if possible.
    problem = models.TextField(default="")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    objects = CompositionQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="composition_once", fields=["reader", "key"]),)
        indexes = (
            models.Index(name="composition_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            models.Index(name="composition_newest", fields=["reader", "-made_at", "-id"]),
        )

    def __str__(self) -> str:
        return self.key

    def become(self, **changes: object) -> Self:
        """The row must be locked."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))
        return self


class Photo(models.Model):
    """We store its `data` until the site has it at `url`."""

    composition = models.ForeignKey(Composition, on_delete=models.CASCADE, related_name="photos")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    media_type = models.CharField(max_length=20)
    alt = models.CharField(max_length=2_000, blank=True, default="")
    data = models.BinaryField(default=b"")
    url = models.TextField(default="")

    class Meta:
        ordering = ("position", "pk")

    def __str__(self) -> str:
        return self.name
