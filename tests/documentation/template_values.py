"""The page of docs/reference/ about templates: tags, filters and values, from the classes."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints
from unittest import mock

from delivery.rendering import engine
from delivery.rendering.facts import IssueFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.library import register, usual
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from delivery.rendering.page_posts import Link, PageFacts, render_page, shown_posts

NOW = datetime(2026, 3, 2, 7, tzinfo=UTC)
NOTE = "This page is written by `make reference`."


def lines() -> Iterator[str]:
    yield "# Values of templates\n"
    yield f"[How to write a template](../customising.md#templates). {NOTE}\n"
    yield f"* **Tags**: {coded(register.tags.keys() - {'field'})}"
    yield f"* **Filters**: {coded(register.filters)}\n"
    yield "A value with names in brackets has these parts: `newsletter.name`. `[…]` is a list of such.\n"
    contexts = {
        "Issues": context_of(lambda: render_issue(an_issue())),
        "The page of an issue": context_of(lambda: render_page(a_page())),
        "Other emails": context_of(lambda: render_mail("welcome", {"newsletter": "News"})),
    }
    for title, context in contexts.items():
        yield f"## {title}\n"
        yield from (f"* `{name}`{parts(type(value), value)}" for name, value in sorted(context.items()))
        yield ""
    for name, mail in sorted(MAILS_BY_TEMPLATE.items()):
        if needs := [each for each in mail.needs if each != "newsletter"]:
            yield f"* in `mails/{name}` also {coded(needs)}"
    yield ""


def context_of(render: Any) -> Mapping[str, Any]:
    with mock.patch.object(engine, "render_parts", wraps=engine.render_parts) as rendered:
        render()
    context: Mapping[str, Any] = rendered.call_args.args[1]
    return context


def parts(kind: Any, value: Any = None) -> str:
    """Return the names that lead on from a value, from the fields and properties of its class."""
    if isinstance(value, tuple) and value:
        return f" […]{parts(type(value[0]))}"
    inner = next((each for each in get_args(kind) if is_dataclass(each)), None)
    if inner is not None:
        return ("" if type(None) in get_args(kind) else " […]") + parts(inner)
    if not is_dataclass(kind):
        return ""
    own = {
        **get_type_hints(kind),
        **{name: None for name, each in vars(kind).items() if isinstance(each, property)},
    }
    return f" ({', '.join(f'`{name}`{parts(each)}' for name, each in sorted(own.items()) if name[0] != '_')})"


def coded(names: Any) -> str:
    return " ".join(f"`{name}`" for name in sorted(names))


def an_issue() -> IssueFacts:
    return IssueFacts(name="news", newsletter="News", arrangement="weekly", entries=usual(now=NOW), now=NOW)


def a_page() -> PageFacts:
    return PageFacts(
        newsletter="News",
        title="Three posts",
        published=NOW,
        posts=shown_posts(usual(now=NOW)).posts,
        page_url="/s/news/",
        archive_url="/s/news/archive/",
        issue_url="/s/news/archive/1/",
        stylesheet="/site.css",
        earlier=Link("/s/news/archive/0/", "Earlier"),
        later=Link("/s/news/archive/2/", "Later"),
    )
