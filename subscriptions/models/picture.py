"""Uploaded pictures: logos and header images."""

from django.db import models
from django.utils import timezone


class Picture(models.Model):
    """One picture, for good: its name is the hash of its octets, and letters that went out show it.

    It is in the database because backups are of the database alone, and because web servers may be several.
    """

    name = models.CharField(max_length=48, primary_key=True)
    media_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    data = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name
