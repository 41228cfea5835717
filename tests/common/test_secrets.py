"""Secrets at rest."""

from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from common.secrets import TOKEN as TOKEN_FORM
from common.secrets import Sealed, decrypt, encrypt, opened
from subscriptions.models import Destination
from tests.factories import DestinationFactory

TOKEN = {"access_token": "t0ken"}


def test_what_was_encrypted_is_read_back_and_is_not_in_the_token() -> None:
    assert decrypt(encrypt(TOKEN)) == TOKEN
    assert "t0ken" not in encrypt(TOKEN)


def test_an_old_key_still_reads_while_it_is_among_the_fallbacks(settings: Any) -> None:
    token = encrypt(TOKEN)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key"
    assert decrypt(token) == TOKEN


def test_a_lost_key_says_what_to_do(settings: Any) -> None:
    token = encrypt(TOKEN)
    settings.SECRET_KEY = "another key"
    with pytest.raises(ValueError, match="SECRET_KEY_FALLBACKS"):
        decrypt(token)


@pytest.mark.django_db
def test_the_database_holds_only_the_token_and_nothing_prints_it() -> None:
    row = DestinationFactory(kind="mastodon", secrets=TOKEN)
    loaded = Destination.objects.get(pk=row.pk)
    assert isinstance(loaded.secrets, Sealed)
    assert opened(loaded.secrets) == TOKEN
    assert "t0ken" not in repr(loaded.secrets)
    assert "t0ken" not in loaded.secrets.token
    loaded.save()
    assert opened(Destination.objects.get(pk=row.pk).secrets) == TOKEN


@pytest.mark.django_db
def test_no_secrets_are_stored_as_nothing() -> None:
    row = Destination.objects.get(pk=DestinationFactory().pk)
    assert not row.secrets
    assert opened(row.secrets) == {}


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["json", "jsonl", "xml"])
def test_a_dump_holds_the_token_and_loading_it_gives_the_same_secret(form: str) -> None:
    row = Destination.objects.get(pk=DestinationFactory(kind="mastodon", secrets=TOKEN).pk)
    text = serializers.serialize(form, [row])
    assert "t0ken" not in text
    Destination.objects.filter(pk=row.pk).delete()
    for loaded in serializers.deserialize(form, text):
        loaded.save()
    assert Destination.objects.get(pk=row.pk).secrets.token == row.secrets.token


@pytest.mark.django_db
def test_a_row_that_was_not_stored_yet_is_dumped_encrypted() -> None:
    text = serializers.serialize("json", [DestinationFactory.build(kind="mastodon", secrets=TOKEN)])
    loaded: Any
    (loaded,) = serializers.deserialize("json", text)
    assert "t0ken" not in text
    assert opened(loaded.object.secrets) == TOKEN


@pytest.mark.parametrize("text", ["Sealed(…)", "Sealed()", "t0ken", "gAAAA", "{}"])
def test_text_that_is_no_token_is_refused_and_never_encrypted(text: str) -> None:
    with pytest.raises(ValidationError):
        Destination._meta.get_field("secrets").to_python(text)


@given(st.dictionaries(st.text(), st.text()))
def test_every_token_is_known_as_one(values: dict[str, str]) -> None:
    assert TOKEN_FORM.fullmatch(encrypt(values))
