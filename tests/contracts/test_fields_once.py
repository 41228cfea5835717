"""A setting is declared on its model: the API, its descriptions and the commands follow.

All channels share the options of commands, so their fields agree with each other.
Whatever a resource declares is there on the surfaces that it names, and says the same.
"""

from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.core.management.base import CommandParser
from django.core.validators import MaxValueValidator
from django.test import Client
from rest_framework import serializers

from channels.bridge import Bridge
from common.cli.registry import commands_in
from common.cli.resources import NOTHING_LIKE_IT
from common.ports import channels, panels
from common.ports.channels import ChannelSpec, Field
from common.resources import ADMIN, API, COMMAND, Filter, Resource, Verb
from feedletter_site.api_urls import router
from feeds.api.views import AddFeed, ChangeFeed, FeedSerializer
from feeds.management.options import add_settings
from feeds.models import Feed
from feeds.models.feed import SETTINGS
from subscriptions.api.bodies import ChangeSubscribable, DefineSubscribable, SubscribableSerializer
from subscriptions.management.options import OPTION_FIELDS, OPTION_HELP, add_fields, option
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import NEWSLETTER_FIELDS
from tests.api import Api, fields
from tests.console import command_named, json_of, printed, refused
from tests.factories import SubscribableFactory

FILES = [*Path().glob("*/resources/[!_]*.py"), *Path().glob("*/resources.py")]
MODULES = sorted(".".join(path.with_suffix("").parts) for path in FILES if path.parts[0] != "common")
RESOURCES: list[Resource[Any]] = [
    each
    for name in MODULES
    for each in vars(import_module(name)).values()
    if isinstance(each, Resource) and type(each).__module__ == name
]
LISTED = [each for each in RESOURCES if "list_help" in vars(type(each))]
KINDS = channels.all_kinds()
# A service's own word, and the common name in all of them.
CALLED_OTHERWISE = {
    "account": "the name here of who posts",
    "webhook_url": "the address that is posted to, which is a secret",
    "server_url": "the server that has the account",
}


def options_of(add: Any, **kwargs: Any) -> dict[str, Any]:
    parser = CommandParser()
    add(parser, **kwargs)
    return {action.dest: action for action in parser._actions}


@pytest.mark.parametrize("body", [DefineSubscribable, ChangeSubscribable, SubscribableSerializer])
def test_every_setting_of_a_newsletter_is_in_the_api(body: type[serializers.Serializer[Any]]) -> None:
    assert set(NEWSLETTER_FIELDS) <= body().fields.keys()


@pytest.mark.parametrize("body", [AddFeed, ChangeFeed, FeedSerializer])
def test_every_setting_of_a_feed_is_in_the_api(body: type[serializers.Serializer[Any]]) -> None:
    assert set(SETTINGS) <= body().fields.keys()


@pytest.mark.parametrize(
    ("model", "names", "options"),
    [
        (Subscribable, OPTION_FIELDS, options_of(add_fields)),
        (Feed, SETTINGS, options_of(add_settings, defaults=False)),
    ],
    ids=["newsletter", "feed"],
)
def test_an_option_has_the_models_help_and_choices(
    model: Any, names: tuple[str, ...], options: dict[str, Any]
) -> None:
    for name in names:
        field = model._meta.get_field(name)
        assert options[name].help == (OPTION_HELP.get(name, str(field.help_text)) or None), name
        assert options[name].choices == ([value for value, _ in field.choices] if field.choices else None)
        assert options[name].default is None


@pytest.mark.parametrize(
    ("model", "body"), [(Subscribable, ChangeSubscribable), (Feed, ChangeFeed)], ids=["newsletter", "feed"]
)
def test_a_limit_of_the_api_is_the_models(model: Any, body: type[serializers.Serializer[Any]]) -> None:
    for field in model._meta.concrete_fields:
        limits = [each for each in field._validators if isinstance(each, MaxValueValidator)]
        if limits and field.name in body().fields:
            most = limits[0].limit_value
            given = body(data={field.name: most + 1}, partial=True)
            assert not given.is_valid(), field.name
            assert list(given.errors) == [field.name]
            assert body(data={field.name: most}, partial=True).is_valid(), field.name


def each_name(fields: str) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = defaultdict(list)
    for kind in KINDS:
        for field in getattr(kind, fields, ()):
            found[field.name].append(field)
    return found


@pytest.mark.parametrize("fields", ["destination_fields", "account_fields"])
def test_a_name_means_the_same_and_is_equally_secret_in_all_kinds(fields: str) -> None:
    for name, said in each_name(fields).items():
        assert len({field.secret for field in said}) == 1, name
        assert name in CALLED_OTHERWISE or len({field.label for field in said}) == 1, name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_no_kind_has_a_field_twice(kind: ChannelSpec) -> None:
    for its_fields in (kind.destination_fields, kind.option_fields, getattr(kind, "account_fields", ())):
        names = [field.name for field in its_fields]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_a_kind_says_in_a_sentence_what_happens_there(kind: ChannelSpec) -> None:
    assert kind.sentence.endswith(".")
    assert len(kind.sentence) <= 120


@pytest.mark.parametrize("kind", channels.bridge_kinds(), ids=lambda kind: kind.key)
def test_a_secret_of_a_bridge_has_a_field_that_does_not_show_it(kind: ChannelSpec) -> None:
    assert isinstance(kind, Bridge)
    words = ("token", "password", "secret", "webhook_url")
    for field in (*kind.destination_fields, *kind.account_fields):
        assert field.secret or not field.name.endswith(words), field.name


@pytest.mark.parametrize("command", ["define_subscribable", "check_destination"])
def test_each_field_of_a_bridge_is_an_option_that_is_no_other_one(command: str) -> None:
    # It refuses an option of two meanings.
    parser = command_named(command).create_parser("manage.py", command)
    there = {name: action.dest for action in parser._actions for name in action.option_strings}
    for field in channels.bridge_fields():
        assert there[option(field)] == f"to_{field.name}"


def test_a_form_that_offers_channels_begins_with_the_one_that_people_sign_up_for() -> None:
    assert next(kind.key for kind in channels.all_kinds()) == "email"


def verbs(surface: str) -> list[Any]:
    return [
        pytest.param(resource, verb, id=f"{verb.name} {resource.noun}")
        for resource in RESOURCES
        for verb in resource.verbs(surface)
    ]


@pytest.mark.django_db
def test_commands_read_from_sources_are_those_that_they_declare() -> None:
    declared = [each.list_command for each in LISTED]
    declared += [each.command for resource in RESOURCES for each in resource.verbs(COMMAND)]
    assert sorted(name for module in MODULES for name in commands_in(module)) == sorted(declared)


@pytest.mark.parametrize(("resource", "verb"), verbs(COMMAND))
@pytest.mark.django_db
def test_a_verb_is_a_command_that_refuses_a_row_that_is_not_there(
    resource: Resource[Any], verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    command: Any = command_named(verb.command)
    assert command.help == verb.help != ""
    with pytest.raises(SystemExit):
        command.run_from_argv(["manage.py", verb.command, "999"])
    if type(resource).find is Resource.find and verb.detail and not needed(verb):
        assert f"There is no {resource.noun} 999." in capsys.readouterr().err


def needed(verb: Verb) -> bool:
    return any(given.is_required for given in verb.given(COMMAND))


def values_of(one: Filter) -> list[str]:
    return [*one.choices] or ["1" if one.kind is int else "x"]


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.list_command)
@pytest.mark.django_db
def test_a_list_says_what_to_do_when_it_is_empty_and_takes_each_of_its_filters(
    resource: Resource[Any],
) -> None:
    first = [SubscribableFactory().name for one in resource.filters if not one.is_optional]
    assert printed(resource.list_command, *first).strip() == resource.empty
    for one in resource.filters:
        if COMMAND not in one.on or not one.is_optional or one.owner:
            continue
        for value in values_of(one):
            option = f"--{one.name.replace('_', '-')}"
            given = [option] if one.kind is bool else [option, value]
            words = printed(resource.list_command, *first, *given)
            assert words.strip() == NOTHING_LIKE_IT or json_of(resource.list_command, *first, *given)
        if one.choices:
            assert "invalid choice" in refused(resource.list_command, *first, option, "nonsense")


@pytest.mark.parametrize(
    ("path", "view"), [pytest.param(path, view, id=path) for path, view, _ in router.registry]
)
@pytest.mark.django_db
def test_a_list_of_the_api_takes_each_filter_and_no_other(path: str, view: Any) -> None:
    if not (resource := getattr(view, "resource", None)):
        pytest.skip("is no resource")
    api = Api()
    for one in resource.filters:
        name = one.api or one.name
        for value in values_of(one):
            assert api.ids(f"{path}/", **{name: "true" if one.kind is bool else value}) == []
        if one.choices:
            assert fields(api.get(f"{path}/", **{name: "nonsense"})) == [name]
    assert fields(api.get(f"{path}/", nonsense="1")) == ["nonsense"]


@pytest.mark.parametrize(("resource", "verb"), verbs(API))
@pytest.mark.django_db
def test_a_verb_is_an_action_of_the_api_for_who_has_a_token(resource: Resource[Any], verb: Verb) -> None:
    views = ((prefix, map(vars, view.__mro__)) for prefix, view, _ in router.registry)
    (prefix,) = (prefix for prefix, bases in views if any(each.get("resource") is resource for each in bases))
    path = f"/api/v1/{prefix}/999/{'' if verb.deletes else verb.name.replace('_', '-') + '/'}"
    assert Client().generic("DELETE" if verb.deletes else "POST", path).status_code == 401
    assert Client().get(path).status_code in (401, 405)


@pytest.mark.parametrize(("resource", "verb"), verbs(ADMIN))
@pytest.mark.django_db
def test_a_verb_is_an_action_of_the_admin(resource: Resource[Any], verb: Verb) -> None:
    page: Any = admin.site._registry[resource.rows().model]
    actions = [*page.own_actions, *panels.added(resource.rows().model._meta.label, panels.Action)]
    (action,) = (each for each in actions if each.name == verb.name)
    assert (action.title, action.fits, action.is_dangerous) == (verb.title, verb.fits, verb.is_harmful)
