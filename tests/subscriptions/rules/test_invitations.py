"""Upstream's proofs, compared to independently computed values (openssl dgst -sha3-256)."""

import pytest

from subscriptions.rules.sign_up import LARGEST_ID, Suffix, invitation, is_invited

# printf '\0\0\0\0\0\0\0\052pepperRemoveSuffix' | openssl dgst -sha3-256
REMOVE_42 = "772dd210dfd3c250a421edfc417d374823bebd596033a90f8fdc5b7f2f355607"
CONFIRM_42 = "c02f9dd9e38685b7b670cf65ff41b254744504626abe8162f8ae1722067f756e"


def test_an_invitation_is_the_one_upstream_writes() -> None:
    assert invitation(42, salt="pepper", suffix=Suffix.REMOVE) == REMOVE_42
    assert invitation(42, salt="pepper", suffix=Suffix.CONFIRM) == CONFIRM_42


def test_it_proves_its_own_link_and_no_other() -> None:
    assert is_invited(42, REMOVE_42, salt="pepper", suffix=Suffix.REMOVE)
    assert is_invited(42, REMOVE_42.upper(), salt="pepper", suffix=Suffix.REMOVE)
    assert not is_invited(43, REMOVE_42, salt="pepper", suffix=Suffix.REMOVE)
    assert not is_invited(42, REMOVE_42, salt="salt", suffix=Suffix.REMOVE)
    assert not is_invited(42, REMOVE_42, salt="pepper", suffix=Suffix.CONFIRM)


@pytest.mark.parametrize("given", ["", "0", REMOVE_42[:-1], REMOVE_42 + "0", "é" * 64])
def test_what_is_no_invitation_proves_nothing(given: str) -> None:
    assert not is_invited(42, given, salt="pepper", suffix=Suffix.REMOVE)


def test_without_a_salt_nothing_is_proven() -> None:
    made = invitation(42, salt="", suffix=Suffix.REMOVE)
    assert not is_invited(42, made, salt="", suffix=Suffix.REMOVE)


def test_every_id_of_upstream_has_one() -> None:
    assert len(invitation(LARGEST_ID, salt="pepper", suffix=Suffix.CONFIRM)) == 64
