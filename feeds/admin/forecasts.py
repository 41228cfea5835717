"""The page that says what the next reading of a feed would do, and why. It changes nothing."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from common.admin.html import link_to, web_link, when
from feeds.items.dry_run import dry_run, remarks, sentence
from feeds.models import Feed, Item

NAME = "feeds_feed_forecast"
TITLE = "What would happen now?"
FORECASTS_SHOWN = 100


class ForecastPage:
    """For FeedAdmin: the page, and the button that leads to it."""

    def get_urls(self: Any) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.forecast_view)
        own = path("<int:pk>/forecast/", view, name=NAME)
        return [own, *super().get_urls()]  # type: ignore[misc]

    def change_view(
        self: Any,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        links = [(TITLE, reverse(f"admin:{NAME}", args=[object_id]))] if object_id.isdecimal() else []
        context = {"page_links": links, **(extra_context or {})}
        answer: HttpResponse = super().change_view(request, object_id, form_url, context)  # type: ignore[misc]
        return answer

    def forecast_view(self: Any, request: HttpRequest, pk: int) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            run = dry_run(feed_id=pk)
        except Feed.DoesNotExist as error:
            raise Http404(f"There is no feed {pk}.") from error
        rows = []
        for row in run.rows[:FORECASTS_SHOWN]:
            title = row.title or row.link or row.guid
            linked = web_link(row.link, title) if row.link else title
            if row.pk:
                linked = link_to(Item(pk=row.pk), title)
            rows.append(
                {
                    "title": linked,
                    "published": when(row.published, ""),
                    "row": row,
                    "settles": when(row.settles, ""),
                    "quiet": row.event == "unchanged",
                }
            )
        context = {
            **self.admin_site.each_context(request),
            "title": TITLE,
            "subtitle": str(run.feed),
            "opts": self.opts,
            "original": run.feed,
            "media": self.media,
            "run": run,
            "sentence": sentence(run),
            "remarks": remarks(run),
            "rows": rows,
            "more": run.more + max(0, len(run.rows) - FORECASTS_SHOWN),
            "back": self.page_url(pk),
            "again": request.path,
        }
        return TemplateResponse(request, "admin/feeds/forecast.html", context)
