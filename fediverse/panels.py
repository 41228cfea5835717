"""Admin: the tab Share of a newsletter, and reactions on an issue's page."""

from django import forms
from django.db.models import Count
from django.http import HttpRequest

from common.admin.html import when
from common.clock import utcnow
from common.parts import Facts, Link, Part, Strong, Table, Text
from common.ports.panels import Action, CannotAct, Panel, add
from common.text import pluralize
from delivery.models import Issue
from fediverse.actors import add_alias, handle_of, switch_off, switch_on
from fediverse.models import Actor, Follower, Reaction
from subscriptions.models import Subscribable

FOLLOWERS_SHOWN = 20
REPLIES_SHOWN = 50


class AliasForm(forms.Form):
    alias = forms.CharField(
        label="Your old account",
        max_length=320,
        help_text="Such as @bees@mastodon.example. Afterwards, move it to this newsletter in its settings.",
    )


def is_followable(newsletter: Subscribable) -> bool:
    return Actor.objects.filter(newsletter=newsletter, is_on=True).exists()


def may_be_followed(newsletter: Subscribable) -> bool:
    return newsletter.visibility == Subscribable.Visibility.PUBLIC and not is_followable(newsletter)


def followers(newsletter: Subscribable) -> Part:
    actor = Actor.objects.filter(newsletter=newsletter).first()
    if actor is None or not actor.is_on:
        kept = pluralize(actor.followers.count(), "follower") if actor else ""
        return (
            Text(
                "People on Mastodon and other servers can follow this newsletter like an account. Their "
                "servers get each issue once, and its corrections within a day."
            ),
            Text(f"It is off. {kept} would get its issues again." if kept else "It is off.", "quiet"),
        )
    newest, count = actor.followers.all()[:FOLLOWERS_SHOWN], actor.followers.count()
    servers = actor.followers.values("server").distinct().count()
    return (
        Facts(
            ("Handle", Strong(handle_of(newsletter))),
            ("Followers", f"{pluralize(count, 'follower')} on {pluralize(servers, 'server')}"),
            ("Old accounts that may move here", ", ".join(actor.also_known_as)),
        ),
        Table(
            ("newest followers", "since"),
            ((Link(row.uri, row.handle), when(row.since)) for row in newest),
            empty="Nobody follows it yet. Type its name into the search of your server, and press “Follow”.",
        ),
    )


def reactions(issue: Issue) -> Part:
    counts = dict(issue.reactions.order_by().values_list("kind").annotate(Count("pk")))
    if not counts:
        return ""
    facts = Facts(*((kind.label.capitalize(), counts.get(kind.value)) for kind in Reaction.Kind))
    replies = issue.reactions.filter(kind=Reaction.Kind.REPLY)[:REPLIES_SHOWN]
    rows = [(Link(row.url or row.uri, row.handle), row.text, when(row.at)) for row in replies]
    return (facts, Table(("reply by", "words", "when"), rows)) if rows else facts


def let_follow(request: HttpRequest, keys: list[int]) -> str:
    newsletters = list(Subscribable.objects.filter(pk__in=keys))
    for newsletter in newsletters:
        switch_on(newsletter, now=utcnow())
    return f"It can be followed as {', '.join(map(handle_of, newsletters))}."


def stop_following(request: HttpRequest, keys: list[int]) -> str:
    for newsletter in Subscribable.objects.filter(pk__in=keys):
        switch_off(newsletter)
    return "It can’t be followed any more. Its followers are kept."


def what_stops(keys: list[int]) -> list[str]:
    count = Follower.objects.filter(actor__newsletter__in=keys).count()
    return [f"{pluralize(count, 'follower')} will get no more issues until it is on again."]


def bring_followers(request: HttpRequest, keys: list[int], alias: str) -> str:
    actor = Actor.objects.filter(newsletter__in=keys).first()
    if actor is None:
        raise CannotAct("Let people follow it first.")
    uri = add_alias(actor, alias, now=utcnow())
    return f"Now move {uri} to {handle_of(actor.newsletter)} in its settings. Its followers will follow here."


def install() -> None:
    add(
        "subscriptions.Subscribable",
        Panel("The Fediverse", followers, order=35, tab="share"),
        Action("let_follow", "Let the Fediverse follow it", let_follow, fits=may_be_followed, tab="share"),
        Action(
            "bring_followers",
            "Bring followers from Mastodon",
            bring_followers,
            form=lambda keys, **options: AliasForm(**options),
            fits=is_followable,
            tab="share",
        ),
        Action(
            "stop_following",
            "Leave the Fediverse",
            stop_following,
            confirm=what_stops,
            fits=is_followable,
            tab="share",
            is_rare=True,
        ),
    )
    add("delivery.Issue", Panel("On the Fediverse", reactions, order=45))
