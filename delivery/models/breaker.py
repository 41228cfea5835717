"""How a service stands that shuts out whoever goes on with requests that it refuses."""

from django.db import models


class ServiceBreaker(models.Model):
    """One service's refusals of the last minutes, of all processes together, and its rest if it has one.

    There is a row from its first refusal on. `channels.rules.breakers` says what the times mean.
    """

    service = models.CharField(max_length=20, unique=True)
    # [minute in ISO 8601, how many] of each minute that still counts.
    recent = models.JSONField(default=list)
    # Nothing goes there before. While it is tried slowly, each message moves this on.
    rests_until = models.DateTimeField(null=True)
    slow_until = models.DateTimeField(null=True)
    # Since when it has been in trouble: rests that follow each other are one trouble.
    since = models.DateTimeField(null=True)
    said = models.TextField(default="")

    def __str__(self) -> str:
        return self.service
