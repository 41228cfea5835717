"""Whatever a resource declares is there on the surfaces that it names, and says the same."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from common.cli.registry import command_named, commands_in
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


@pytest.mark.parametrize("module", MODULES)
def test_commands_read_from_a_source_are_those_that_it_declares(module: str) -> None:
    (resource,) = (each for each in RESOURCES if type(each).__module__ == module)
    declared = [each.command for each in resource.verbs(COMMAND)]
    assert set(commands_in(module)) == set(declared)


@pytest.mark.parametrize(("resource", "verb"), verbs(COMMAND))
def test_a_verb_is_a_command_that_refuses_a_row_that_is_not_there(
    resource: Resource[Any], verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    command: Any = command_named(verb.command)
    assert command.help == verb.help != ""
    with pytest.raises(SystemExit):
        command.run_from_argv(["manage.py", verb.command, "999"])
    assert f"There is no {resource.noun} 999." in capsys.readouterr().err


@pytest.mark.parametrize(("resource", "verb"), verbs(API))
def test_a_verb_is_an_action_of_the_api_within_its_scope(resource: Resource[Any], verb: Verb) -> None:
    (prefix,) = (
        prefix
        for prefix, view, _ in router.registry
        if any(vars(each).get("resource") is resource for each in view.mro())
    )
    if verb.name == "drop":
        assert Client().delete(f"/api/v1/{prefix}/999/").status_code == 401
        return
    path = f"/api/v1/{prefix}/999/{verb.name.replace('_', '-')}/"
    assert Client().post(path, content_type="application/json").status_code == 401
    assert Client().get(path).status_code in (401, 405)


@pytest.mark.parametrize(("resource", "verb"), verbs(ADMIN))
def test_a_verb_is_an_action_of_the_admin(resource: Resource[Any], verb: Verb) -> None:
    page: Any = admin.site._registry[resource.rows().model]
    (action,) = (each for each in page.every_action() if each.name == verb.name)
    assert (action.title, action.fits, action.is_dangerous) == (verb.title, verb.fits, verb.is_harmful)
