"""Whatever a resource declares is there on the surfaces that it names, and says the same."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from common.cli.registry import command_named, commands_in
from common.ports import panels
from common.resources import ADMIN, API, COMMAND, Resource, Verb
from feedletter_site.api_urls import router

pytestmark = pytest.mark.django_db
MODULES = sorted(".".join(path.with_suffix("").parts) for path in Path().glob("*/resources/[!_]*.py"))
RESOURCES: list[Resource[Any]] = [
    each for name in MODULES for each in vars(import_module(name)).values() if isinstance(each, Resource)
]


def verbs(surface: str) -> list[Any]:
    return [
        pytest.param(resource, verb, id=f"{verb.name} {resource.noun}")
        for resource in RESOURCES
        for verb in resource.verbs(surface)
    ]


def test_commands_read_from_sources_are_those_that_they_declare() -> None:
    declared = [each.command for resource in RESOURCES for each in resource.verbs(COMMAND)]
    assert sorted(name for module in MODULES for name in commands_in(module)) == sorted(declared)


@pytest.mark.parametrize(("resource", "verb"), verbs(COMMAND))
def test_a_verb_is_a_command_that_refuses_a_row_that_is_not_there(
    resource: Resource[Any], verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    command: Any = command_named(verb.command)
    assert command.help == verb.help != ""
    with pytest.raises(SystemExit):
        command.run_from_argv(["manage.py", verb.command, "999"])
    if type(resource).find is Resource.find:
        assert f"There is no {resource.noun} 999." in capsys.readouterr().err


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
