"""Structured data for search engines, in a page.

See https://www.w3.org/TR/json-ld11/#embedding-json-ld-in-html-documents.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString, mark_safe

# So that no text ends the element. Browsers don't run data, so policies without scripts allow it.
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def json_ld(data: Mapping[str, Any]) -> SafeString:
    """Return the script element. Empty values are left out."""
    text = json.dumps({"@context": "https://schema.org", **_filled(data)}, ensure_ascii=False)
    return mark_safe(f'<script type="application/ld+json">{text.translate(_ESCAPES)}</script>')  # noqa: S308


def _filled(data: Mapping[str, Any]) -> dict[str, Any]:
    values = ((name, _filled(value) if isinstance(value, Mapping) else value) for name, value in data.items())
    return {name: value for name, value in values if value not in ("", None, {}, [], ())}
