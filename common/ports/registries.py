"""Functions that later apps add to what earlier ones do, in AppConfig.ready().

Arguments and results are the earlier app's, whose models are not known here.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

# common: get the counts of events, and the name of a stage after each successful pass.
count_writers: list[Callable[[Mapping[tuple[str, str], int]], None]] = []
pass_listeners: list[Callable[[str], None]] = []
# feeds: keep what they need of a feed's stored reading. The feed's row is locked; items must not be changed.
audiences: list[Callable[[Any, Any], None]] = []
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
# feedletter_site: return alerts for the overview.
alert_sources: list[Callable[[], list[Any]]] = []
