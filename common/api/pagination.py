"""Cursor pagination by primary key, equally fast on all pages and stable while rows change."""

import re
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from common.api.bodies import Parameters
from common.api.fields import Choice, Flag, Moment, Pattern, StrictInteger

USUAL, MOST = 100, 1000
CURSOR = r"^[ab][0-9]{1,18}$"


class ListParameters(Parameters):
    """Parameters of every list."""

    cursor = Pattern(
        CURSOR,
        "This is no cursor. Follow the links next and previous.",
        required=False,
        help_text="Start of the page. Use the links next and previous.",
    )
    page_size = StrictInteger(
        min_value=1, max_value=MOST, default=USUAL, help_text="How many at once.", required=False
    )
    ordering = Choice(
        choices=("id", "-id"), default="id", required=False, help_text="-id puts the newest first."
    )
    created_after = Moment(required=False, help_text="Only rows created at this time or later.")
    created_before = Moment(required=False, help_text="Only rows created before this time.")
    count = Flag(
        default=False, required=False, help_text="Also say how many there are in all. Slow for very many."
    )


class ByKey(CursorPagination):
    """A cursor is "a" or "b" (after, before) and the key of a row."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:
        self.page_size = view.asked["page_size"]
        self.ordering = view.asked["ordering"]
        self.count = queryset.count() if view.asked["count"] else None
        return super().paginate_queryset(queryset, request, view=view)

    def get_paginated_response(self, data: Any) -> Response:
        answer = super().get_paginated_response(data)
        if self.count is not None:
            answer.data = {"count": self.count, **answer.data}
        return answer

    def get_page_size(self, request: Request) -> int | None:
        return self.page_size

    def decode_cursor(self, request: Request) -> Any:
        text = request.query_params.get("cursor")
        if text is None:
            return None
        if not re.fullmatch(CURSOR.strip("^$"), text):
            raise ValidationError({"cursor": ["This is no cursor."]})
        return Cursor(offset=0, reverse=text[0] == "b", position=int(text[1:]))

    def encode_cursor(self, cursor: Any) -> str:
        text = f"{'b' if cursor.reverse else 'a'}{cursor.position}"
        return replace_query_param(self.base_url or "", "cursor", text)

    def get_paginated_response_schema(self, schema: Any) -> Any:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "description": "How many there are in all, if asked for."},
                "next": link,
                "previous": link,
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> Any:
        """ListParameters describes them."""
        return []
