"""A setting is declared on its model: the API, its descriptions and the commands follow.

All channels share the options of commands, so their fields agree with each other.
"""

from collections import defaultdict
from typing import Any

import pytest
from django.core.management.base import CommandParser
from django.core.validators import MaxValueValidator
from rest_framework import serializers

from channels.bridge import Bridge
from common.ports import channels
from common.ports.channels import ChannelSpec, Field
from feeds.api.views import AddFeed, ChangeFeed, FeedSerializer
from feeds.management.options import add_settings
from feeds.models import Feed
from feeds.models.feed import SETTINGS
from subscriptions.api.bodies import ChangeSubscribable, DefineSubscribable, SubscribableSerializer
from subscriptions.management.options import OPTION_FIELDS, OPTION_HELP, add_fields, option
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import NEWSLETTER_FIELDS
from tests.console import command_named

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
    for fields in (kind.destination_fields, kind.option_fields, getattr(kind, "account_fields", ())):
        names = [field.name for field in fields]
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
