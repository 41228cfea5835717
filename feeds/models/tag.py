"""A tag: what an admin groups feeds by, and what an OPML file's folders become."""

from django.db import models


class Tag(models.Model):
    name = models.CharField(max_length=100, unique=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
