from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.admin import TabularInline

from common.admin.html import web_link, when
from common.parts import Lines, Link, Part, Table, Text
from common.text import pluralize
from subscriptions.collections.post_rules import MOST_RULES, change_rules, refuse_slow_rule, try_rules
from subscriptions.models import FailedAssignment, LeftOut, PostRule, Subscribable

LEFT_OUT_SHOWN = 10
# The full sentence is above the fields.
SHORT = {
    "action": {"keep": "keep only", "drop": "leave out", "replace": "replace in"},
    "test": {"contains": "contains", "equals": "is", "matches": "matches"},
}


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    """Checks the rule with the feeds' current posts too."""

    class Meta:
        model = PostRule
        fields = ("action", "field", "test", "pattern", "replacement", "active", "position")
        labels = {  # noqa: RUF012
            "action": "do what",
            "field": "posts whose",
            "test": "how",
            "pattern": "this",
            "replacement": "put instead",
            "active": "in use",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in SHORT.items():
            if name in self.fields:
                self.fields[name].choices = list(words.items())  # type: ignore[attr-defined]
        for name in ("action", "field", "test"):
            if name in self.fields:
                self.fields[name].widget.attrs["style"] = "min-width: 8rem"

        if "position" in self.fields:
            self.fields["position"].required = False
            if self.instance.pk is None:
                self.initial["position"] = None

    def clean_position(self) -> int:
        given = self.cleaned_data.get("position")
        return int(self.instance.position if given is None else given)

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors or not self.has_changed():
            return
        try:
            refuse_slow_rule(self.instance)
        except ValidationError as error:
            self.add_error(None, error)


class RuleInline(TabularInline):  # type: ignore[misc]
    model = PostRule
    form = RuleForm
    extra = 0
    max_num = MOST_RULES
    ordering_field = "position"
    hide_ordering_field = True
    verbose_name_plural = "Rules: which posts it takes, and what it changes in them"
    fields = ("action", "field", "test", "pattern", "replacement", "active", "position")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("subscriptions.view_subscribable")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("subscriptions.change_subscribable")

    has_change_permission = has_delete_permission = has_add_permission


def save_rules(subscribable: Subscribable, formset: Any) -> None:
    """New rows are last unless moved."""
    saved = formset.save(commit=False)
    there = [row.position for row in subscribable.post_rules.all()]
    for number, form in enumerate(formset.extra_forms, max(there, default=-1) + 1):
        if form["position"].data in (None, ""):
            form.instance.position = number
    change_rules(subscribable=subscribable, saved=saved, gone=formset.deleted_objects)


def what_rules_do(subscribable: Subscribable) -> Part:
    rules = [rule for rule in subscribable.post_rules.all() if rule.active]
    if not subscribable.hooks and not rules:
        return ""
    zone = subscribable.zone
    kept_whole = "{} On {} it couldn’t check a post, which was kept unchanged: {}"
    troubles = (
        Text(kept_whole.format(rule, when(rule.trouble_at, zone=zone), rule.trouble), "alert")
        for rule in rules
        if rule.trouble
    )
    tried = try_rules(subscribable)
    kept = sum(each.is_kept for each in tried)
    summary = f"Of the newest {pluralize(len(tried), 'post')} in its feeds it would take {kept:,}."
    rows = []
    for each in tried:
        if each.is_kept:
            verdict = "changed" if each.changed_by else "taken"
            because = [*each.changed_by, *([f"Its title was “{each.old_title}”."] if each.old_title else [])]
        else:
            verdict, end = "left out", "" if each.reason.endswith(".") else "."
            because = [each.reason[:1].upper() + each.reason[1:] + end]
        because += [trouble for trouble in each.troubles if trouble not in because]
        rows.append((web_link(each.link, each.title), verdict, Lines(because)))
    empty = "Its feeds have not been read yet, or are empty."
    return (*troubles, summary if tried else "", Table(("post", "it is", "because"), rows, empty))


def left_out_lately(subscribable: Subscribable) -> Part:
    rows = LeftOut.objects.filter(subscribable=subscribable).select_related("item").defer("item__entry")
    zone = subscribable.zone
    shown = ((Link(row.item), when(row.at, zone=zone), f"{row.reason}.") for row in rows[:LEFT_OUT_SHOWN])
    return Table(("post", "when", "because"), shown, "")


def what_is_stuck(subscribable: Subscribable) -> Part:
    rows = FailedAssignment.objects.filter(item__feed__in=subscribable.feeds.all())
    shown = [
        (Link(row.item), row.last_error, when(row.next_try_at, zone=subscribable.zone))
        for row in rows.select_related("item").defer("item__entry")[:LEFT_OUT_SHOWN]
    ]
    if not shown:
        return ""
    explanation = "They’ve settled, but couldn’t be added to an issue. Nothing is lost: we try again."
    return (Text(explanation, "alert"), Table(("post", "what went wrong", "tried again"), shown))
