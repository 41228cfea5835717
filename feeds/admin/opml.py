"""Import and export of lists of feeds, with a preview and progress.

The parsed file is kept in the admin's session, encrypted, as addresses may hold passwords. Steps are
idempotent. Not a common.uploads.Upload: the page takes the steps, without a worker.
"""

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from unfold.decorators import action

from common.admin.html import list_url, page
from common.admin.refusals import require
from common.admin.uploads import UploadField, UploadPage
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.parts import Facts
from common.secrets import decrypt, encrypt
from common.text import pluralize, shortened
from feeds.adding.opml import (
    FEEDS_A_STEP,
    OpmlPlan,
    OpmlReport,
    count_import,
    export_opml,
    first_new,
    import_chunk,
    plan_import,
)
from feeds.admin.tag import TagsField
from feeds.credentials import without_secrets
from feeds.models import Feed
from feeds.parsing.opml import MAX_BYTES, OpmlError, Outline, Passed, parse_opml

KEY = "opml"
FILE_KEPT_FOR = timedelta(hours=6)
REFUSED_SHOWN = 200
EXAMPLES_SHOWN = 10
NOTHING_NEW = "There is nothing to do: you watch all of these feeds already."
NOTHING_GOOD = "There is nothing to do: no feed in the file can be added."
FILE_LOST = "The file is no longer at hand. Choose it again: feeds that were added already are passed over."
PAGE = UploadPage(
    "Import feeds",
    "Most feed readers and newsletter programs can export their feeds as an OPML file. We add its feeds and"
    " send their new posts. Feeds that are already here don’t change.",
    (Feed, "Back to feeds"),
)


class FileForm(forms.Form):
    file = UploadField(
        accept=".opml,.xml,text/x-opml,text/xml",
        label="OPML file",
        help_text="At most 5 MB and 10,000 feeds. You see a preview before anything is added.",
    )
    tags = TagsField(label="Tags for all of them", help_text="Added to the tags from the file’s folders.")

    def plan(self) -> OpmlPlan | None:
        """Return None, with errors in the form, if the file or tags are invalid."""
        try:
            body = self.cleaned_data["file"].read(MAX_BYTES + 1)
            return plan_import(parse_opml(body), tags=self.cleaned_data["tags"], now=utcnow())
        except OpmlError as error:
            self.add_error("file", str(error))
        except ValidationError as error:
            self.add_error("tags", error.messages)
        return None


class OpmlPages:
    actions_list = ("import_opml", "export_opml")

    def get_urls(self: Any) -> list[URLPattern]:
        view: Callable[..., Any] = self.admin_site.admin_view
        own = [
            path("opml/look/", view(self.opml_look_view), name="feeds_feed_opml_look"),
            path("opml/run/", view(self.opml_run_view), name="feeds_feed_opml_run"),
        ]
        return [*own, *super().get_urls()]  # type: ignore[misc]

    @takes_body(MAX_BYTES + MAX_FORM_BYTES, files=True)
    @action(description="Import OPML", url_path="opml", icon="upload", permissions=["add"])
    def import_opml(self: Any, request: HttpRequest) -> HttpResponse:
        form = FileForm(request.POST or None, request.FILES or None)
        plan = form.plan() if request.method == "POST" and form.is_valid() else None
        if plan is None:
            return PAGE.response(self, request, form)
        keep(request, plan, OpmlReport())
        return HttpResponseRedirect(reverse("admin:feeds_feed_opml_look"))

    @action(description="Export OPML", url_path="export", icon="download", permissions=["view"])
    def export_opml(self: Any, request: HttpRequest) -> HttpResponse:
        name = f"feedletter-{timezone.localdate():%Y-%m-%d}.opml"
        text = "".join(export_opml(Feed.objects.all()))
        answer = HttpResponse(text, content_type="text/x-opml; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
        return answer

    def opml_look_view(self: Any, request: HttpRequest) -> HttpResponse:
        kept = self._kept(request)
        if isinstance(kept, HttpResponse):
            return kept
        plan, done, _ = kept
        if done != OpmlReport():
            return HttpResponseRedirect(reverse("admin:feeds_feed_opml_run"))
        report = count_import(plan)
        first = first_new(plan, EXAMPLES_SHOWN)
        button = f"Give tags to {pluralize(report.tagged, 'feed')}" if report.tagged else ""
        if report.added:
            button = f"Add {pluralize(report.added, 'feed')}"
        return _page(
            self,
            request,
            "opml_look.html",
            "Import these feeds?",
            facts=_facts(plan, report, would=True),
            examples=[
                (shortened(one.title or without_secrets(one.url), 80), ", ".join(one.tags)) for one in first
            ],
            more=f"{report.added - EXAMPLES_SHOWN:,}" if report.added > EXAMPLES_SHOWN else "",
            is_broken=plan.is_broken,
            button=button,
            nothing=NOTHING_NEW if plan.outlines else NOTHING_GOOD,
            **_passed(plan),
        )

    def opml_run_view(self: Any, request: HttpRequest) -> HttpResponse:
        """A POST does the next part."""
        kept = self._kept(request)
        if isinstance(kept, HttpResponse):
            return kept
        plan, report, done = kept
        if request.method == "POST":
            done = step(request, plan, report, done)
            if request.headers.get("Accept") != "application/json":
                return HttpResponseRedirect(request.path)
        total = len(plan.outlines)
        if request.method == "POST":
            return JsonResponse({"done": done, "total": total, "is_over": done == total})
        return _page(
            self,
            request,
            "opml_run.html",
            "Importing feeds" if done < total else "Imported",
            facts=_facts(plan, report),
            done=done,
            total=total,
            words=f"{done:,} of {total:,}",
            is_over=done == total,
            every=pluralize(int(Feed._meta.get_field("recheck_every_minutes").default), "minute"),
            **_passed(plan),
        )

    def _kept(self: Any, request: HttpRequest) -> tuple[OpmlPlan, OpmlReport, int] | HttpResponse:
        require(self.has_add_permission(request))
        progress = kept(request)
        if progress is not None:
            return progress
        messages.warning(request, FILE_LOST)
        return HttpResponseRedirect(reverse("admin:feeds_feed_import_opml"))


def _page(model_admin: Any, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    shared = {"title": title, "opts": model_admin.opts, "back": list_url(Feed)}
    return page(request, f"admin/feeds/{template}", {**shared, **context})


def step(request: HttpRequest, plan: OpmlPlan, report: OpmlReport, begin: int) -> int:
    """Return how many outlines are done."""
    total = len(plan.outlines)
    if begin < total:
        report += import_chunk(plan, begin=begin, now=utcnow())
    done = min(begin + FEEDS_A_STEP, total)
    # The page shows the final counts once more.
    keep(request, plan if done < total else replace(plan, outlines=[]), report, done if done < total else 0)
    return done


def keep(request: HttpRequest, plan: OpmlPlan, report: OpmlReport, begin: int = 0) -> None:
    text = json.dumps({"plan": asdict(plan), "report": asdict(report), "begin": begin})
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    request.session[KEY] = encrypt({"plan": packed, "until": (utcnow() + FILE_KEPT_FOR).isoformat()})


def kept(request: HttpRequest) -> tuple[OpmlPlan, OpmlReport, int] | None:
    """Return the plan, what was done, and where to continue."""
    try:
        secrets = decrypt(request.session[KEY])
        if secrets["until"] < utcnow().isoformat():
            raise KeyError(KEY)
        data = json.loads(zlib.decompress(base64.b64decode(secrets["plan"])))
        outlines = [
            Outline(**{**row, "tags": tuple(row["tags"]), "categories": tuple(row["categories"])})
            for row in data["plan"].pop("outlines")
        ]
        refused, changed = (
            [Passed(**row) for row in data["plan"].pop(key)] for key in ("refused", "changed")
        )
    except (KeyError, TypeError, ValueError, zlib.error):
        request.session.pop(KEY, None)
        return None
    plan = OpmlPlan(outlines=outlines, refused=refused, changed=changed, **data["plan"])
    return plan, OpmlReport(**data["report"]), int(data["begin"])


def _facts(plan: OpmlPlan, report: OpmlReport, *, would: bool = False) -> Facts:
    known = f"{report.known:,}"
    if report.tagged:
        known += f", of which {report.tagged:,} {'get' if would else 'got'} tags they had not"
    return Facts(
        ("To be added" if would else "Added", report.added),
        ("There already", known if report.known else ""),
        ("Twice in the file", plan.repeated or None),
        ("Not completely", len(plan.changed) or None),
        ("Refused", len(plan.refused) or None),
    )


def _passed(plan: OpmlPlan) -> dict[str, Any]:
    return {
        "passed": [
            (
                title,
                [(one.line, shortened(one.title, 120), one.reason) for one in some[:REFUSED_SHOWN]],
                max(0, len(some) - REFUSED_SHOWN),
            )
            for title, some in (("Not added", plan.refused), ("Not imported completely", plan.changed))
            if some
        ]
    }
