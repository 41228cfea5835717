"""One address for several newsletters."""

from typing import Any

from django.utils.translation import gettext

from subscriptions.forms import SignUpForm
from subscriptions.rules.sign_up import MOST_AT_ONCE


class SeveralForm(SignUpForm):
    """`subscribables` are those that were chosen: none before the reader has."""

    def clean(self) -> dict[str, Any]:
        if not self.subscribables:
            self.add_error(None, gettext("Choose at least one newsletter."))
        elif len(self.subscribables) > MOST_AT_ONCE:
            self.add_error(
                None, gettext("Choose at most %(most)s newsletters at a time.") % {"most": MOST_AT_ONCE}
            )
        return super().clean()

    @property
    def button(self) -> str:
        return gettext("Subscribe to what I have chosen")
