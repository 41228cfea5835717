"""Functions that later apps add to what earlier ones do, in AppConfig.ready().

Arguments and results are the earlier app's, whose models are not known here.

Figures of large tables, counted in the background.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any

LARGE = 20_000
# JSON values by the keys of objects.
Figures = Mapping[int, Any]
# By kind: returns the figures of all objects with more than LARGE rows.
counters: dict[str, Callable[[], Figures]] = {}
keepers: list[Callable[[str, Iterable[int]], Figures]] = []
# common: get the counts of events, and the name of a stage after each successful pass.
count_writers: list[Callable[[Mapping[tuple[str, str], int]], None]] = []
pass_listeners: list[Callable[[str], None]] = []
# feeds: keep what they need of a feed's stored reading. The feed's row is locked; items must not be changed.
audiences: list[Callable[[Any, Any], None]] = []
# feeds: return the document that this site has at an address (feeds.polling.read.OwnDocument), or None.
own_documents: list[Callable[[str, datetime], Any]] = []
# feeds: keep the text of a post's page, by its item's key. The item's row is locked.
page_takers: list[Callable[[int, str], None]] = []
# feeds: query feeds whose followers get mail instead of the admins.
told_to_others: list[Callable[[], Any]] = []
# feeds: name what shows a feed's posts to others.
shown_by: list[Callable[[Any], list[str]]] = []
# subscriptions: return which of these keys of destinations are still needed.
needed_destinations: list[Callable[[Sequence[int]], set[int]]] = []
# subscriptions: raise ValidationError, with the field, about a newsletter.
newsletter_checks: list[Callable[[Any], None]] = []
# subscriptions: return the brands of newsletters, the latest issue of one, and the names of templates.
brand_sources: list[Callable[[Any], Mapping[int, Any]]] = []
latest_sources: list[Callable[[Any], Any]] = []
template_sources: list[Callable[[], list[str]]] = []
# delivery, after a restore: hold in its transaction what the backup has as unsent. It may have been sent.
holds: list[Callable[[datetime], object]] = []
# delivery: take an email to these addresses of BOUNCE_DOMAIN and say what was done, or None if it is for
# nobody there. May raise Refused.
mail_takers: list[Callable[[bytes, Sequence[str], datetime], str | None]] = []
mail_recipients: list[Callable[[str], bool]] = []
# feedletter_site: return alerts for the overview.
alert_sources: list[Callable[[], list[Any]]] = []


def kept_figures(kind: str, keys: Iterable[int]) -> Figures:
    return keepers[0](kind, keys) if keepers else {}


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports that one at its first call.

    For what AppConfig.ready() registers: most commands never call it, and would load half the program.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), name)(*args, **kwargs)

    return call
