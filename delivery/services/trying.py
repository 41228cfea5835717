"""Tries a template on before it is kept: with the facts that templates stumble over."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from delivery.rendering import made_up, sandbox
from delivery.rendering.broken import BrokenTemplate
from delivery.rendering.fields import field_names
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.rendering.page import render_page
from delivery.rendering.page_posts import post_of
from delivery.rendering.rendered import Rendered
from delivery.rendering.sources import Source
from delivery.services.facts import Collected, issue_facts
from delivery.services.mails import mail_context
from delivery.services.pages import made_up_page
from delivery.services.theming import theme_of
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable


def try_on(subscribable: Subscribable, name: str, source: Source, *, now: datetime) -> None:
    """Raises LetterError unless the source renders and all its fields are there."""
    folder, _, short = name.partition("/")
    fields = {} if folder == "pages" else field_names(subscribable.params)
    sandbox.check_fields(name, source, fields)
    {"issues": _issue, "mails": _mail, "pages": _page}[folder](subscribable, short, source, now)


def _issue(subscribable: Subscribable, template: str, source: Source, now: datetime) -> None:
    empty = Collected(subscribable, "sample", now, now, ())
    facts = replace(issue_facts(empty, now=now), template=template, own={f"issues/{template}": source})
    for entries in _collections(now):
        render_issue(replace(facts, entries=entries))


def _mail(subscribable: Subscribable, template: str, source: Source, now: datetime) -> None:
    whole = mail_context(subscribable, template, now=now)
    bare = {**whole, "page_url": "", "manage_url": "", "unsubscribe_url": "", "site_url": ""}
    theme = theme_of(subscribable)
    for context in (whole, bare):
        rendered = render_mail(
            template,
            context,
            language=subscribable.language,
            params=subscribable.params,
            theme=theme,
            own=source,
        )
        _must_confirm(template, context, rendered)


def _must_confirm(template: str, context: Mapping[str, Any], rendered: Rendered) -> None:
    for part in ("html", "text"):
        if template == "confirmation" and context["confirm_url"] not in getattr(rendered, part):
            reason = "nobody can confirm with it: {{ confirm_url }} is missing"
            raise BrokenTemplate(f"mails/{template}", reason, part=part)


def _page(subscribable: Subscribable, _template: str, source: Source, now: datetime) -> None:
    for entries in _collections(now):
        posts = tuple(post_of(entry) for entry in entries)
        facts = replace(made_up_page(subscribable, posts, now=now), own=source)
        render_page(facts)
        render_page(replace(facts, earlier=None, later=None, is_open=False))


def _collections(now: datetime) -> tuple[tuple[Entry, ...], ...]:
    return (made_up.usual(now=now), *made_up.odd(now=now))
