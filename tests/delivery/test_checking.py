"""Unusable values of a newsletter are refused when it is saved, naming the field."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from delivery.customisation import refuse_wrong_sender, refuse_wrong_template
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from tests.factories import FeedFactory, SubscribableFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("from_email", "not an address"),
        ("from_email", "a@example.org, b@example.org"),
        ("from_email", "Ada <a@example.org>\r\nBcc: b@example.org"),
        ("from_email", '"a\x00" <a@example.org>'),
        ("reply_to", "nobody"),
        ("template", "there-is-none"),
    ],
)
def test_a_wrong_sender_or_template_is_refused_when_it_is_saved(field: str, value: str) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(ValidationError) as error:
        define_subscribable(name="letter", feeds=[FeedFactory()], **fields)
    assert list(error.value.message_dict) == [field]
    assert Subscribable.objects.count() == 0


def test_it_is_refused_when_it_is_changed_and_the_old_one_stays() -> None:
    subscribable = SubscribableFactory()
    with pytest.raises(ValidationError):
        alter_subscribable(subscribable=subscribable, from_email="nobody")
    subscribable.refresh_from_db()
    assert subscribable.from_email == "Letters <letters@sender.example>"


@pytest.mark.parametrize("value", ["", "a@example.org", "Grüße <a@example.org>", "letters@localhost"])
def test_a_right_sender_is_taken(value: str) -> None:
    refuse_wrong_sender(SubscribableFactory.build(from_email=value, reply_to=value))


def test_both_are_named_when_both_are_wrong() -> None:
    with pytest.raises(ValidationError) as error:
        refuse_wrong_sender(SubscribableFactory.build(from_email="a", reply_to="b"))
    assert set(error.value.message_dict) == {"from_email", "reply_to"}


@pytest.mark.parametrize("template", ["", "post", "digest", "announcement"])
def test_a_template_that_there_is_is_taken(template: str) -> None:
    refuse_wrong_template(SubscribableFactory.build(template=template))
