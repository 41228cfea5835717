"""Whatever a resource declares is there on the surfaces that it names, and says the same."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from common.cli.registry import commands_in
from common.cli.resources import NOTHING_LIKE_IT
from common.ports import panels
from common.resources import ADMIN, API, COMMAND, Filter, Resource, Verb
from feedletter_site.api_urls import router
from tests.api import Api, fields
from tests.console import command_named, json_of, printed, refused
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db
FILES = [*Path().glob("*/resources/[!_]*.py"), *Path().glob("*/resources.py")]
MODULES = sorted(".".join(path.with_suffix("").parts) for path in FILES if path.parts[0] != "common")
RESOURCES: list[Resource[Any]] = [
    each
    for name in MODULES
    for each in vars(import_module(name)).values()
    if isinstance(each, Resource) and type(each).__module__ == name
]
LISTED = [each for each in RESOURCES if "list_help" in vars(type(each))]


def verbs(surface: str) -> list[Any]:
    return [
        pytest.param(resource, verb, id=f"{verb.name} {resource.noun}")
        for resource in RESOURCES
        for verb in resource.verbs(surface)
    ]


def test_commands_read_from_sources_are_those_that_they_declare() -> None:
    declared = [each.list_command for each in LISTED]
    declared += [each.command for resource in RESOURCES for each in resource.verbs(COMMAND)]
    assert sorted(name for module in MODULES for name in commands_in(module)) == sorted(declared)


@pytest.mark.parametrize(("resource", "verb"), verbs(COMMAND))
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
def test_a_verb_is_an_action_of_the_api_for_who_has_a_token(resource: Resource[Any], verb: Verb) -> None:
    views = ((prefix, map(vars, view.__mro__)) for prefix, view, _ in router.registry)
    (prefix,) = (prefix for prefix, bases in views if any(each.get("resource") is resource for each in bases))
    path = f"/api/v1/{prefix}/999/{'' if verb.deletes else verb.name.replace('_', '-') + '/'}"
    assert Client().generic("DELETE" if verb.deletes else "POST", path).status_code == 401
    assert Client().get(path).status_code in (401, 405)


@pytest.mark.parametrize(("resource", "verb"), verbs(ADMIN))
def test_a_verb_is_an_action_of_the_admin(resource: Resource[Any], verb: Verb) -> None:
    page: Any = admin.site._registry[resource.rows().model]
    actions = [*page.own_actions, *panels.added(resource.rows().model._meta.label, panels.Action)]
    (action,) = (each for each in actions if each.name == verb.name)
    assert (action.title, action.fits, action.is_dangerous) == (verb.title, verb.fits, verb.is_harmful)
