"""A setting is declared on its model: the API, its descriptions and the commands follow."""

from typing import Any

import pytest
from django.core.management.base import CommandParser
from django.core.validators import MaxValueValidator
from rest_framework import serializers

from feeds.api.views import AddFeed, ChangeFeed, FeedSerializer
from feeds.management.options import add_settings
from feeds.models import Feed
from feeds.models.feed import SETTINGS
from subscriptions.api.bodies import ChangeSubscribable, DefineSubscribable, SubscribableSerializer
from subscriptions.management.options import OPTION_FIELDS, OPTION_HELP, add_fields
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import NEWSLETTER_FIELDS


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
