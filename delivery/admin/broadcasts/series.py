"""Page of a newsletter's series: its emails in order, with when somebody who begins now gets each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTimeWidget, UnfoldBooleanSwitchWidget

from channels.letter import LetterError
from common.access import visible_to
from common.admin.html import brief, object_url, page
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.refusals import require
from common.clock import utcnow
from common.parts import Button, Facts, Link, Part, Table
from common.refused import Refused
from common.text import pluralize, shortened
from delivery.admin.broadcasts import forms as letter_forms
from delivery.issues import progress, series
from delivery.models import Broadcast
from delivery.rules.progress import arrived
from delivery.rules.series import Step, course
from subscriptions.models import SeriesRun, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable

MAY_CHANGE = "subscriptions.change_subscribable"
POSTS_SEARCHED, POSTS_SHOWN = 2_000, 100
LONGEST_TITLE = 120


class SeriesForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    is_on = forms.BooleanField(
        required=False, label="New subscribers get it", widget=UnfoldBooleanSwitchWidget()
    )

    class Meta:
        model = Subscribable
        fields = ("series_at", "series_first")
        labels = {"series_at": "Time", "series_first": "The newsletter begins after the series"}  # noqa: RUF012
        help_texts = {  # noqa: RUF012
            "series_at": "On the subscriber’s clock. Empty: at the newsletter’s time, or 8:00.",
            "series_first": "Otherwise new subscribers get both at the same time.",
        }
        widgets = {  # noqa: RUF012
            "series_at": UnfoldAdminTimeWidget(format="%H:%M"),
            "series_first": UnfoldBooleanSwitchWidget(),
        }


def series_url(newsletter: Subscribable) -> str:
    return reverse("admin:delivery_broadcast_series", args=[newsletter.pk])


def days_words(days: int, *, is_first: bool) -> str:
    if not days:
        return "at once" if is_first else "together with it"
    return pluralize(days, "day") + (" after the sign-up" if is_first else " later")


def series_panel(newsletter: Subscribable) -> Part:
    """Say what the series is; "" for what isn't email."""
    if newsletter.channel != "email":
        return ""
    emails = list(series.emails_of(newsletter))
    button = Button(series_url(newsletter), "Open the series" if emails else "Begin a series", is_plain=True)
    if not emails:
        return ("Emails for each new subscriber, days apart: a welcome, or a course.", button)
    on = sum(letter.issue_id is not None for letter in emails)
    is_on = newsletter.welcome == Subscribable.Welcome.SERIES
    return (
        Facts(
            ("New subscribers get it", "yes" if is_on else "no"),
            ("Emails", f"{on}" if on == len(emails) else f"{on}, and {pluralize(len(emails) - on, 'draft')}"),
            ("In it now", pluralize(series.under_way(newsletter).count(), "subscriber")),
        ),
        button,
    )


def way_of(subscription: Subscription) -> Part:
    """Show how far somebody is in a series; "" if in none."""
    rows = []
    for run in SeriesRun.objects.filter(subscription=subscription).select_related("newsletter"):
        letters = set(series.emails_of(run.newsletter).values_list("pk", flat=True)) | set(run.sent)
        if run.ended_at is not None:
            next_ = "ended"
        elif run.due_at is None:
            next_ = "waits until they come back"
        else:
            next_ = letter_forms.in_zone(max(run.due_at, utcnow()), run.newsletter)
        link = Link(series_url(run.newsletter), run.newsletter)
        rows.append((link, f"{len(run.sent)} of {len(letters)}", next_))
    return Table(("series", "emails", "next look"), rows) if rows else ""


class SeriesPage(ServiceAdmin):
    """Base of BroadcastAdmin."""

    def series_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        require(self.has_view_permission(request))
        newsletters = visible_to(request.user, Subscribable.objects.filter(channel="email"))
        newsletter = newsletters.filter(pk=pk).first()
        if newsletter is None:
            raise Http404
        may_set = request.user.has_perm(MAY_CHANGE)
        form = SeriesForm(
            request.POST if request.POST.get("do") == "settings" else None,
            instance=newsletter,
            initial={"is_on": newsletter.welcome == Subscribable.Welcome.SERIES},
        )
        if request.method == "POST":
            require(may_set if form.is_bound else self.has_change_permission(request))
            try:
                said = _settings(newsletter, form) if form.is_bound else self.series_act(request, newsletter)
            except (Refused, LetterError) as error:
                messages.error(request, f"Not done. {error}")
            else:
                if isinstance(said, HttpResponse):
                    return said
                if said:
                    messages.success(request, said)
            if not form.errors:
                return HttpResponseRedirect(request.path)
        context = {
            "title": f"Series of {newsletter}",
            "opts": self.opts,
            "newsletter": newsletter,
            "newsletter_url": object_url(newsletter),
            "form": form if may_set else None,
            "may_write": self.has_change_permission(request),
            "may_send": self.has_act_permission(request),
            "is_on": newsletter.welcome == Subscribable.Welcome.SERIES,
            **_shown(newsletter, request.GET.get("find", "").strip(), utcnow()),
        }
        return page(request, "admin/delivery/series.html", context)

    def save_days(self, request: HttpRequest, newsletter: Subscribable, now: datetime) -> int:
        """Save typed numbers of days, which any button sends. Return how many changed. Raises Refused."""
        typed = {
            letter: _number(request.POST, f"days-{letter.pk}", -1)
            for letter in series.emails_of(newsletter)
            if f"days-{letter.pk}" in request.POST
        }
        changed = {letter: days for letter, days in typed.items() if days != letter.series_days}
        require(not changed or self.has_act_permission(request))
        for letter, days in changed.items():
            series.set_days(letter_id=letter.pk, days=days, now=now)
            self.log_change(request, letter, f"Series: {days_words(days, is_first=False)}.")
        return len(changed)

    def series_act(self, request: HttpRequest, newsletter: Subscribable) -> HttpResponse | str:
        """Raises Refused, LetterError."""
        do, now, author = request.POST.get("do", ""), utcnow(), request.user.get_username()
        saved = self.save_days(request, newsletter, now)
        if do == "days":
            return "Saved." if saved else ""
        if do == "write":
            letter = series.add_email(newsletter=newsletter, author=author, now=now)
            self.log_addition(request, letter, "Begun, for the series.")
            return HttpResponseRedirect(object_url(letter))
        if do == "posts":
            require(self.has_act_permission(request))
            keys = [int(each) for each in request.POST.getlist("posts") if each.isdecimal()][:POSTS_SHOWN]
            posts = list(series.archived_posts(newsletter).filter(pk__in=keys))
            count = series.add_posts(newsletter=newsletter, posts=posts, author=author, now=now)
            return f"{pluralize(count, 'post')} added." if count else "Choose posts first."
        letters = self.get_queryset(request).filter(subscribable=newsletter)
        letter = letters.filter(pk=_number(request.GET, "letter")).first()
        if letter is None:
            raise Refused("This email no longer belongs to the series.")
        require(do in ("up", "down") or self.has_act_permission(request))
        said = ""
        match do:
            case "up" | "down":
                series.move_email(letter_id=letter.pk, way=do)
            case "on":
                series.switch_on(letter_id=letter.pk, version=letter.version, now=now)
                said = f"“{letter}” is switched on."
            case "remove":
                series.remove_email(letter_id=letter.pk)
                said = f"“{letter}” is removed. To put it back, choose “Add to the series” under Emails."
            case _:
                return ""
        self.log_change(request, letter, f"Series: {do}.")
        return said


def _settings(newsletter: Subscribable, form: SeriesForm) -> str:
    if not form.is_valid():
        return ""
    given = dict(form.cleaned_data)
    is_on, was_on = given.pop("is_on"), newsletter.welcome == Subscribable.Welcome.SERIES
    if is_on != was_on:
        given["welcome"] = Subscribable.Welcome.SERIES if is_on else Subscribable.Welcome.NONE
    alter_subscribable(subscribable=newsletter, **given)
    return "Saved."


def _number(given: Mapping[str, Any], name: str, otherwise: int = 0) -> int:
    value = str(given.get(name, ""))
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else otherwise


def _shown(newsletter: Subscribable, find: str, now: datetime) -> dict[str, Any]:
    emails = list(series.emails_of(newsletter))
    on = [letter for letter in emails if letter.issue_id is not None]
    steps = [Step(letter.pk, letter.series_days) for letter in on]
    moments = dict(zip(on, course(steps, now, at=newsletter.series_time, zone=newsletter.zone), strict=True))
    counts = progress.counts_of(letter.issue_id for letter in on if letter.issue_id)
    posts = _posts(newsletter, emails, find)
    return {
        "emails": [
            {
                "letter": letter,
                "url": object_url(letter.issue or letter),
                "title": shortened(str(letter), LONGEST_TITLE),
                "when": days_words(letter.series_days, is_first=place == 0),
                "moment": brief(moments[letter], zone=newsletter.zone) if letter in moments else "",
                "got": _got(arrived(counts[letter.issue_id])) if letter.issue_id else "",
            }
            for place, letter in enumerate(emails)
        ],
        "under_way": pluralize(series.under_way(newsletter).count(), "subscriber"),
        "posts": posts[:POSTS_SHOWN],
        "more_posts": max(len(posts) - POSTS_SHOWN, 0),
        "find": find,
    }


def _got(count: int) -> str:
    return f"{pluralize(count, 'subscriber')} got it" if count else "Nobody got it yet"


def _posts(newsletter: Subscribable, emails: Sequence[Broadcast], find: str) -> list[dict[str, Any]]:
    """Return posts of the archive that are not in the series, oldest first. `find`: in title or category."""
    there, words = {letter.post_item_id for letter in emails}, find.casefold()
    rows = series.archived_posts(newsletter).values_list(
        "pk", "item_id", "entry__title", "entry__categories", "issue__published_at"
    )
    found = []
    for pk, item, title, categories, at in rows[:POSTS_SEARCHED]:
        tags = [str(each) for each in categories or ()]
        is_named = any(words in each.casefold() for each in (title or "", *tags))
        if item not in there and is_named and at is not None:
            about = ", ".join([brief(at, zone=newsletter.zone), *tags])
            found.append({"key": pk, "title": shortened(title or "Untitled", LONGEST_TITLE), "about": about})
    return found
