from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_safe

from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.passes import TimeBudget
from feeds.parsing.opml import MAX_BYTES
from reader.channels.channels import channel_of
from reader.channels.follows import may_look
from reader.channels.opml import export_follows, follow_listed, keep_list, report_of, stop_list
from reader.models import FollowLine, FollowList, Reader
from reader.pages.access import WAITED_FOR, ReaderPage, for_readers

LINES_SHOWN = 500
REFRESHED_AFTER_SECONDS = 3


@method_decorator(takes_body(MAX_BYTES + MAX_FORM_BYTES, files=True, for_users=True), name="dispatch")
class ImportPage(ReaderPage):
    """The last import. A POST uploads a file, or (`act`) stops the import."""

    template_name = "reader/opml.html"
    section = "feeds"
    failure = gettext_noop("This file couldn’t be imported.")

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.POST.get("act") == "stop":
            stop_list(reader=self.reader, now=utcnow())
            return redirect("reader:opml")
        uid, file = request.POST.get("channel", ""), request.FILES.get("file")
        channel = channel_of(self.reader, uid) if uid else None
        if not may_look(self.reader):
            return self.refuse_attempt()
        if file is None:
            return self.refuse(gettext("Choose a file first."))
        body = file.read(MAX_BYTES + 1)
        kept = keep_list(reader=self.reader, body=body, channel=channel, now=utcnow())
        follow_listed(kept, left=TimeBudget(WAITED_FOR))
        return redirect("reader:opml")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        kept = FollowList.objects.filter(reader=self.reader).first()
        return super().get_context_data(list=kept, **(_told(kept) if kept else {}), **kwargs)

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        response = super().render_to_response(context, **kwargs)
        if context["list"] and context["list"].ended_at is None and "problem" not in context:
            response.headers["Refresh"] = str(REFRESHED_AFTER_SECONDS)
        return response


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
