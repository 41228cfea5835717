"""A page speaks the language its reader chose; else what the browser asked for."""

from contextlib import suppress

from django.utils import translation
from django.utils.translation.trans_real import get_supported_language_variant

from subscriptions.models import Subscription


def speak_as(subscription: Subscription) -> None:
    """From here to the end of the request, which the LanguageMiddleware marks."""
    speak(subscription.language)


def speak(language: str) -> None:
    """The same of a language, which may be none, or one that we do not speak: that changes nothing."""
    with suppress(LookupError):
        translation.activate(get_supported_language_variant(language))
