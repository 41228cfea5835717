"""`check` and `migrate` report hooks that must not or cannot be loaded."""

from typing import Any

import pytest

from feedletter_site.hook_checks import hook_modules, hooks_of_newsletters
from tests.factories import SubscribableFactory


def test_modules_that_are_there_are_fine(settings: Any) -> None:
    settings.HOOK_MODULES = ["tests.own_code"]
    assert hook_modules(None) == []


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("my hooks", "feedletter.E001"),
        ("my-hooks", "feedletter.E001"),
        ("nothing_of_the_kind", "feedletter.W005"),
        ("nothing_of.the_kind", "feedletter.W005"),
    ],
)
def test_a_name_that_cannot_work_is_told(settings: Any, name: str, id_: str) -> None:
    settings.HOOK_MODULES = [name]
    assert [message.id for message in hook_modules(None)] == [id_]


@pytest.mark.django_db
def test_a_newsletter_whose_code_may_not_be_loaded_is_named(settings: Any) -> None:
    SubscribableFactory(name="fine", hooks="tests.own_code.plain")
    SubscribableFactory(name="weekly", hooks="os.path")
    settings.HOOK_MODULES = ["tests.own_code"]
    (message,) = hooks_of_newsletters(None, databases=["default"])
    assert "weekly" in message.msg
    assert "HOOK_MODULES" in message.msg
    assert hooks_of_newsletters(None, databases=None) == []
