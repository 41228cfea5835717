from django.db import models
from django.db.models import Q
from django.utils import timezone

from delivery.models import Issue
from fediverse.rules.activities import LONGEST_ID
from subscriptions.models import Destination, Subscribable


class Actor(models.Model):
    """Newsletter that was ever followable. `is_on` says whether it is now; its followers are kept."""

    newsletter = models.OneToOneField(Subscribable, on_delete=models.CASCADE, related_name="actor")
    is_on = models.BooleanField(default=True)
    # Accounts that name this one as their successor, so that their followers can move here.
    also_known_as = models.JSONField(default=list, blank=True)
    since = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return str(self.newsletter)


class RemoteActor(models.Model):
    """Account on another server with its key, as last fetched."""

    uri = models.CharField(max_length=LONGEST_ID, unique=True)
    handle = models.CharField(max_length=320)
    inbox = models.CharField(max_length=LONGEST_ID)
    shared_inbox = models.CharField(max_length=LONGEST_ID, blank=True)
    key_id = models.CharField(max_length=LONGEST_ID, unique=True)
    public_key = models.TextField()
    fetched_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.handle


class Follower(models.Model):
    """Follows a newsletter. `server` is the shared inbox, which has the subscription."""

    actor = models.ForeignKey(Actor, on_delete=models.CASCADE, related_name="followers")
    uri = models.CharField(max_length=LONGEST_ID)
    handle = models.CharField(max_length=320)
    inbox = models.CharField(max_length=LONGEST_ID)
    server = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="followers")
    follow_id = models.CharField(max_length=LONGEST_ID, blank=True)
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-pk",)
        constraints = (models.UniqueConstraint(name="follower_once", fields=["uri", "actor"]),)

    def __str__(self) -> str:
        return self.handle


class Activity(models.Model):
    """Received and not yet verified. Afterwards only its id is kept, so that a replay is recognized."""

    uri = models.CharField(max_length=LONGEST_ID, unique=True)
    host = models.CharField(max_length=255)
    url = models.CharField(max_length=LONGEST_ID)
    headers = models.JSONField(default=dict)
    body = models.TextField(blank=True)
    received_at = models.DateTimeField(db_index=True)
    # None: done.
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = (models.Index(name="activity_due", fields=["due_at"], condition=Q(due_at__isnull=False)),)

    def __str__(self) -> str:
        return self.uri


class Outgoing(models.Model):
    """Activity for one inbox other than an issue: an answer to a follow, or a change of the newsletter."""

    actor = models.ForeignKey(Actor, on_delete=models.CASCADE, related_name="+")
    inbox = models.CharField(max_length=LONGEST_ID)
    document = models.JSONField()
    due_at = models.DateTimeField(db_index=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.document.get('type')} to {self.inbox}"


class Reaction(models.Model):
    """Like, boost of, or reply to an issue. Only editors see it."""

    class Kind(models.TextChoices):
        LIKE = "like", "likes"
        BOOST = "boost", "boosts"
        REPLY = "reply", "replies"

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="reactions")
    kind = models.CharField(max_length=5, choices=Kind)
    # Of the activity; of a reply, that of the note.
    uri = models.CharField(max_length=LONGEST_ID, unique=True)
    actor = models.CharField(max_length=LONGEST_ID, db_index=True)
    handle = models.CharField(max_length=320)
    text = models.TextField(blank=True)
    url = models.CharField(max_length=LONGEST_ID, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.kind} by {self.handle}"
