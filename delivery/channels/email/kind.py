"""What the rest of the program knows of e-mail."""

from collections.abc import Mapping

from common.kinds import Field, InvalidDestination, ParsedDestination
from delivery.channels.email.address import checked_name, parse_address


class EmailKind:
    """Letters to people, who may sign up themselves."""

    key = "email"
    label = "E-mail"
    public_sign_up = True
    arrangements = frozenset({"each", "daily", "weekly", "monthly", "every_n", "cron"})
    destination_fields: tuple[Field, ...] = (
        Field("email", "E-mail address", "Such as ada@example.org or Ada <ada@example.org>.", required=True),
        Field("name", "Name", "How letters address them; may be empty."),
    )
    option_fields: tuple[Field, ...] = ()

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """`email` may carry a name; `name` goes before it. Raises InvalidDestination."""
        address = parse_address(data.get("email", ""))
        return ParsedDestination(
            core=address.core,
            label=address.label,
            display_name=checked_name(data.get("name", "")) or address.name,
            config={"address": address.email},
        )

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """E-mail has none. Raises InvalidDestination for any."""
        if data:
            raise InvalidDestination(f"E-mail has no option “{next(iter(data))}”.")
        return {}

    def check(self, destination: ParsedDestination) -> None:
        """Nothing can be asked beforehand: the confirmation mail is the check."""
