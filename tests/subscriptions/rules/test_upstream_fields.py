"""The fields of upstream's forms."""

import pytest

from subscriptions.rules.validation import UpstreamSignUp, WrongFields, read_sign_up

WEEKLY = ("subscribableName", "weekly")


def test_the_tutorials_form_is_understood() -> None:
    given = [WEEKLY, ("addressPart", "ada@example.org"), ("displayNamePart", "Ada")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "ada@example.org", "Ada")


def test_the_friendlier_names_mean_the_same() -> None:
    given = [WEEKLY, ("address", "ada@example.org"), ("displayName", "Ada")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "ada@example.org", "Ada")


def test_values_are_trimmed_and_blank_ones_do_not_count() -> None:
    given = [WEEKLY, ("addressPart", " a@example.org\n"), ("displayNamePart", "  "), ("number", "")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "a@example.org")


@pytest.mark.parametrize("field", ["destinationType", "type"])
@pytest.mark.parametrize("value", ["Email", "EMAIL", "Sms", "Mastodon", "BlueSky"])
def test_the_type_is_read_in_any_case(field: str, value: str) -> None:
    assert read_sign_up([WEEKLY, (field, value)]).type == value.lower()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ([("name", "ada"), ("instanceUrl", "https://social.example/")], "mastodon"),
        ([("number", "+12125550100")], "sms"),
        ([("identifier", "ada.example")], "email"),
        ([], "email"),
    ],
)
def test_without_a_type_it_is_guessed(fields: list[tuple[str, str]], kind: str) -> None:
    assert read_sign_up([WEEKLY, *fields]).type == kind


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("subscribableName", " ")],
        [WEEKLY, ("subscribableName", "daily")],
        [WEEKLY, ("addressPart", "a@example.org"), ("addressPart", "b@example.org")],
        [WEEKLY, ("addressPart", "a@example.org"), ("number", "1")],
        [WEEKLY, ("type", "pigeon")],
    ],
)
def test_what_contradicts_itself_is_refused(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(WrongFields):
        read_sign_up(fields)


def test_the_same_said_twice_is_said_once() -> None:
    assert read_sign_up([WEEKLY, WEEKLY]).newsletter == "weekly"
