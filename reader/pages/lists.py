from http import HTTPStatus

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.passes import TimeBudget
from common.refused import Refused
from feeds.parsing.opml import MAX_BYTES
from reader.channels.channels import channel_of
from reader.channels.follows import may_look
from reader.channels.opml import export_follows, follow_listed, keep_list, report_of, stop_list
from reader.models import FollowLine, FollowList, Reader
from reader.pages.access import WAITED_FOR, for_readers, surroundings

LINES_SHOWN = 500
REFRESHED_AFTER_SECONDS = 3


@takes_body(MAX_BYTES + MAX_FORM_BYTES, files=True, for_users=True)
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def opml(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Show the last import. A POST uploads a file, or (`act`) stops the import."""
    problem, details, status = "", "", HTTPStatus.OK
    if request.method == "POST":
        if request.POST.get("act") == "stop":
            stop_list(reader=reader, now=utcnow())
            return HttpResponseRedirect(reverse("reader:opml"))
        uid, file = request.POST.get("channel", ""), request.FILES.get("file")
        channel = channel_of(reader, uid) if uid else None
        status = HTTPStatus.BAD_REQUEST
        if not may_look(reader):
            problem, status = gettext("Too many attempts. Wait a minute."), HTTPStatus.TOO_MANY_REQUESTS
        elif file is None:
            problem = gettext("Choose a file first.")
        else:
            try:
                body = file.read(MAX_BYTES + 1)
                kept = keep_list(reader=reader, body=body, channel=channel, now=utcnow())
            except Refused as error:
                problem, details = gettext("This file couldn’t be imported."), str(error)
            else:
                follow_listed(kept, left=TimeBudget(WAITED_FOR))
                return HttpResponseRedirect(reverse("reader:opml"))
    kept_list = FollowList.objects.filter(reader=reader).first()
    around = surroundings(reader)
    context = {
        **around,
        "section": "feeds",
        "problem": problem,
        "details": details,
        "choices": [line for line in around["channels"] if not line.is_notifications],
        "list": kept_list,
        **(_told(kept_list) if kept_list else {}),
    }
    answer = render(request, "reader/opml.html", context, status=status)
    if kept_list and kept_list.ended_at is None and not problem:
        answer.headers["Refresh"] = str(REFRESHED_AFTER_SECONDS)
    return answer


@for_readers
@require_safe
def export(request: HttpRequest, reader: Reader) -> HttpResponse:
    lines = export_follows(reader, now=utcnow())
    name = f'attachment; filename="{reader.slug}.opml"'
    return HttpResponse("".join(lines), content_type="text/x-opml", headers={"Content-Disposition": name})


def _shown(kept: FollowList, outcome: FollowLine.Outcome) -> "QuerySet[FollowLine]":
    lines = kept.lines.filter(outcome=outcome)
    return lines if outcome == FollowLine.Outcome.REFUSED else lines.filter(post__isnull=True)


def _told(kept: FollowList) -> dict[str, object]:
    report = report_of(kept)
    lines = {
        outcome.value: list(_shown(kept, outcome)[:LINES_SHOWN])
        for outcome in (FollowLine.Outcome.REFUSED, FollowLine.Outcome.FOLLOWED, FollowLine.Outcome.KNOWN)
    }
    return {"report": report, "done": report.total - report.waiting, "lines": lines}
