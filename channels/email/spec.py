from collections.abc import Mapping

from channels.account import Account
from channels.email.address import checked_name, parse_address
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.ports.channels import ChannelSpec, Field, InvalidDestination, ParsedDestination
from subscriptions.rules.schedule import ARRANGEMENTS


def _accounts() -> list[tuple[str, str]]:
    names = Account.objects.mail().values_list("name", flat=True)
    return [("", "Default"), *((name, name) for name in names)]


class EmailSpec(ChannelSpec):
    """People may sign up themselves; the confirmation mail is the check."""

    key = "email"
    label = "Email"
    sentence = "An email to each subscriber."
    public_sign_up = True
    needs_html = True
    arrangements = frozenset(ARRANGEMENTS)
    destination_fields: tuple[Field, ...] = (
        Field(
            "email", "Email address", "For example ada@example.org or Ada <ada@example.org>.", required=True
        ),
        Field("name", "Name", "How emails address this person. Can be empty."),
    )
    option_fields: tuple[Field, ...] = (
        Field(
            "account",
            "Mail account",
            "The email account that sends the newsletter. Add more in Settings under “Email set-up”.",
            choices=_accounts,
        ),
    )

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """`name` overrides the name in `email`. Raises InvalidDestination."""
        address = parse_address(data.get("email", ""))
        return ParsedDestination(
            core=address.core,
            label=address.label,
            display_name=checked_name(data.get("name", "")) or address.name,
            config={"address": address.email},
        )

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """Omit the default account. Raises InvalidDestination."""
        for name in data.keys() - {"account"}:
            raise InvalidDestination(f"Email has no option “{name}”.")
        account = data.get("account", "").strip()
        if not account or account == DEFAULT_ACCOUNT:
            return {}
        names = [name for name, _ in _accounts() if name]
        if account not in names:
            known = f"There are: {', '.join(names)}." if names else "There is only the default account."
            raise InvalidDestination(f"account: there is no email account “{account[:64]}”. {known}")
        return {"account": account}
