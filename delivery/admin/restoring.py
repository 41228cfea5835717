"""After a restore: shows held deliveries and asks what to do."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from common.admin.html import list_url, page, when
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.refusals import report, require
from common.clock import utcnow
from common.parts import Link
from common.text import pluralize
from delivery.engine.claim import go, held_issues, is_open
from delivery.issues.pause import cancel_issue
from delivery.models import Issue, Restore
from feeds.models import Feed, Item

MAY_DECIDE = "delivery.change_delivery"
# Maximum for a click; workers do the rest.
RESTORE_BUDGET = timedelta(seconds=5)
RESTORE_PAGE = "admin:delivery_restore_changelist"


def restored() -> dict[str, Any] | None:
    """Return the dashboard's notice, or None without an undecided restore."""
    restore = is_open()
    if restore is None:
        return None
    deliveries, posts = sum(count for _, count, _ in held_issues()), Item.objects.held().count()
    count = pluralize(deliveries, "delivery", "deliveries")
    be = "is" if deliveries + posts == 1 else "are"
    return {
        "sentence": (
            f"That was on {when(restore.begun_at)}. What was sent after the backup was made is not "
            f"known here. {count} and {pluralize(posts, 'post')} {be} held until you decide."
        ),
        "page": reverse(RESTORE_PAGE),
    }


@admin.register(Restore)
class RestoreAdmin(ReadOnlyAdmin):
    """Single page instead of a list."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        require(request.user.has_perm("delivery.view_delivery"))
        if request.method == "POST":
            return self.decide(request)
        restore, issues = is_open(), held_issues()
        context = {
            "title": "After a restore",
            "restore": restore,
            "begun": when(restore.begun_at if restore else None),
            "rows": [
                {
                    "newsletter": issue.subscribable if issue else "",
                    "title": Link(issue) if issue else "Emails outside issues",
                    "made": when(made),
                    "count": count,
                    "pk": issue.pk if issue else None,
                }
                for issue, count, made in issues
            ],
            "deliveries": sum(count for _, count, _ in issues),
            "posts": Item.objects.held().count(),
            "feeds_url": list_url(Feed, health="held"),
            "may": request.user.has_perm(MAY_DECIDE),
        }
        return page(request, "admin/delivery/restore.html", context)

    def decide(self, request: HttpRequest) -> HttpResponse:
        require(request.user.has_perm(MAY_DECIDE))
        is_confirmed = "confirmed" in request.POST
        if "go" in request.POST and is_confirmed:
            report(request, send_all)
            return HttpResponseRedirect(reverse("admin:index"))
        if "go" in request.POST:
            deliveries = sum(count for _, count, _ in held_issues())
            sentences = [
                f"{pluralize(deliveries, 'delivery', 'deliveries')} will be sent. People who got one of them "
                "after the backup was made get it twice.",
                "Posts that feeds hold stay held: decide on them there.",
            ]
            return self.ask(request, "Send all of it", sentences, ("go", "1"))
        issue = Issue.objects.filter(pk=request.POST.get("issue", "0")).first()
        if issue is None:
            messages.warning(request, "This issue no longer exists.")
        elif is_confirmed:
            report(request, lambda: send_none(issue))
        else:
            held = next((count for row, count, _ in held_issues() if row == issue), 0)
            sentences = [f"{pluralize(held, 'reader')} will not get “{issue}”. It stays in the archive."]
            posted = ("issue", str(issue.pk))
            return self.ask(request, "Do not send it", sentences, posted, is_dangerous=True)
        return HttpResponseRedirect(reverse(RESTORE_PAGE))

    def ask(
        self, request: HttpRequest, title: str, sentences: list[str], posted: tuple[str, str], **more: bool
    ) -> HttpResponse:
        context = {"title": title, "sentences": sentences, "posted": [posted], "back": reverse(RESTORE_PAGE)}
        return page(request, "admin/confirm_action.html", {**context, **more})


def send_all() -> str:
    count = go(now=utcnow(), budget=RESTORE_BUDGET)
    return f"Sending continues: {pluralize(count, 'delivery', 'deliveries')} queued so far."


def send_none(issue: Issue) -> str:
    count = cancel_issue(issue_id=issue.pk, now=utcnow(), budget=RESTORE_BUDGET)
    return f"{pluralize(count, 'delivery', 'deliveries')} of “{issue}” cancelled."
