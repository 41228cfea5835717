"""Rules that a newsletter has for the posts of its feeds."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from feeds.models import Item
from subscriptions.models.subscribable import Subscribable
from subscriptions.rules.post_rules import InvalidRule, Rule, check_rule, sentence


class PostRule(models.Model):
    """One rule: which posts it is for, and what becomes of them. Read in the order of their positions.

    Where there are rules that keep, a post has to fit one of them. If it fits one that drops, it is left out.
    """

    class Action(models.TextChoices):
        KEEP = "keep", "keep only posts"
        DROP = "drop", "leave out posts"
        REPLACE = "replace", "replace in posts"

    class Field(models.TextChoices):
        ANY = "any", "anything"
        TITLE = "title", "title"
        AUTHOR = "author", "author"
        CATEGORY = "category", "category"
        CONTENT = "content", "text"
        LINK = "link", "link"

    class Test(models.TextChoices):
        CONTAINS = "contains", "contains"
        EQUALS = "equals", "is"
        MATCHES = "matches", "matches the regular expression"

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="post_rules")
    position = models.PositiveIntegerField(default=0)
    action = models.CharField(max_length=8, choices=Action, default=Action.DROP)
    field = models.CharField("whose", max_length=8, choices=Field, default=Field.ANY)
    test = models.CharField("what", max_length=8, choices=Test, default=Test.CONTAINS)
    pattern = models.CharField("this", max_length=500)
    replacement = models.CharField(
        max_length=500, blank=True, default="", help_text=r"For “replace”; \1 is the first group."
    )
    active = models.BooleanField(default=True)
    # Why a post could not be judged by it lately. Forgotten when the rule is changed.
    trouble = models.TextField(blank=True, default="", editable=False)
    trouble_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("subscribable", "position", "pk")
        verbose_name = "rule for posts"
        verbose_name_plural = "rules for posts"

    def __str__(self) -> str:
        return sentence(self.rule)

    def clean(self) -> None:
        """Raises ValidationError, naming the field, for a rule that could not work."""
        try:
            check_rule(self.rule)
        except InvalidRule as error:
            raise ValidationError({error.field: str(error)}) from error

    @property
    def rule(self) -> Rule:
        """As the pure rules see it."""
        return Rule(self.action, self.field, self.test, self.pattern, self.replacement, key=self.pk or 0)


class LeftOut(models.Model):
    """A post that a newsletter did not take, and why: the answer to “why not that post”."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="left_out")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="left_out")
    reason = models.TextField()
    # An editor said so. Until its issue goes, it can be put back.
    by_hand = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-at", "-pk")
        constraints = (models.UniqueConstraint(name="left_out_once", fields=["subscribable", "item"]),)

    def __str__(self) -> str:
        return f"{self.item} not in {self.subscribable}"


class FailedAssignment(models.Model):
    """A settled post that could not be assigned: why, and when it is tried again."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="stuck")
    failures = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    last_error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("next_try_at", "pk")

    def __str__(self) -> str:
        return f"{self.item}: {self.last_error}"
