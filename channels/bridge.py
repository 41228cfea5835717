"""Services where admins set up destinations, each with its own serial lane."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from django.utils.module_loading import import_string

from channels import fields
from channels.account import Account
from channels.announcement import Announcement, announcement_of
from channels.base import TOO_LONG, CannotPost, Channel, CrashPolicy, LaneDefaults, LaneFacts, Looks, Message
from channels.http.session import ServiceSession
from channels.letter import Letter, Recipient
from channels.rules.corrections import DELETE_WITHDRAWN, EDIT_CORRECTED
from channels.wording import checked_template
from common.ports.channels import ChannelSpec, Field, InvalidDestination, ParsedDestination, read_fields
from common.secrets import opened
from common.truncation import DoesNotFit
from subscriptions.rules.schedule import ARRANGEMENTS

if TYPE_CHECKING:
    from channels.oauth import OAuth

TEMPLATE = Field(
    "template",
    "Words",
    "Text of each post, for example “{title} {link} {hashtags}”. Use {title|New post} to "
    "give a fallback for posts without a title. Leave empty for the default.",
    clean=checked_template,
    many_lines=True,
)
WHEN_UNSURE = Field(
    "when_unsure",
    "If delivery can’t be confirmed",
    "Used when the service can’t be asked whether a post arrived. Hold it for your decision, "
    "send it again (it may appear twice) or skip it (it may be missing).",
    choices=lambda: [("", "Hold it"), ("repeat", "Send it again"), ("skip", "Skip it")],
)

EDIT = fields.switch(
    EDIT_CORRECTED,
    "Edit corrected posts",
    "If a post changes in its feed within a day, the published post is edited too. Doesn’t apply to digests.",
)
DELETE = fields.switch(
    DELETE_WITHDRAWN,
    "Delete withdrawn posts",
    "If a post is removed from its feed within a day, the published post is deleted an hour "
    "later. Doesn’t apply to digests.",
)
INVITATION = Field(
    "invitation",
    "Invitation",
    "An address where people can join or follow. Pages of newsletters with the same feeds show it.",
    clean=fields.page_address,
)
# A warning does not prevent saving.
WARNING = "warning"


def account_field(kind: str, label: str, help_text: str) -> Field:
    """For destinations with shared accounts."""

    def choices() -> list[tuple[str, str]]:
        names = Account.objects.filter(kind=kind).values_list("name", flat=True)
        return [(name, name) for name in names]

    def known(typed: str) -> str:
        names = [name for name, _ in choices()]
        if typed not in names:
            there_are = (
                f"There are: {', '.join(names)}." if names else "There are no accounts yet. Add one first."
            )
            raise ValueError(f"account not found. {there_are}")
        return typed

    return Field("account", label, help_text, required=True, choices=choices, clean=known)


def account_values(kind: str, name: str) -> dict[str, str]:
    """Raises InvalidDestination."""
    account = Account.objects.filter(kind=kind, name=name).first()
    try:
        return opened(account.secrets) if account else {}
    except ValueError as error:
        raise InvalidDestination(f"account: {error}") from error


class Service(ServiceSession, Channel, ChannelSpec):
    """A channel whose service has an API: its facts and its calls.

    One object describes the service; `connect` makes another, the session, for each lane.
    """

    arrangements = frozenset(ARRANGEMENTS)
    # The account of all destinations, which are their own otherwise.
    only_account = ""
    # Returns a letter in the form of the service. Pure. Raises DoesNotFit and CannotPost.
    written: Callable[[Letter], Any]

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        return self.destination(read_fields(self.destination_fields, data, owner=self.label))

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """Build the destination from cleaned fields. Raises InvalidDestination."""
        raise NotImplementedError

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return self.only_account or core

    def composer(self, letter: Letter) -> Callable[[Recipient], Message[Any]]:
        body, refusal = None, ""
        try:
            body = self.written(letter)
        except DoesNotFit:
            refusal = TOO_LONG
        except CannotPost as error:
            refusal = str(error)
        return lambda to: self.message(body, to, refusal)

    def message(self, body: Any, to: Recipient, refusal: str) -> Message[Any]:
        return Message(body, to.config, to.secrets, refusal)

    def check_account(self, values: Mapping[str, str]) -> str:
        """Return the account's name from the service (network). Raises InvalidDestination."""
        if not self.account_fields:
            raise InvalidDestination(f"{self.label} doesn’t use accounts.")
        return self.connect(LaneFacts(self.key, "", credentials=values)).check_credentials()

    def connect(self, lane: LaneFacts) -> Self:
        return type(self)(lane)


class Companion(Service):
    """A service that carries issues of another channel's newsletters."""

    is_companion = True
    option_fields: tuple[Field, ...] = ()

    def preview(self, message: Message[Any]) -> Looks:
        """See Previews."""
        return Looks("", refusal=message.refusal) if message.refusal else self.looks(message)

    @abstractmethod
    def looks(self, message: Message[Any]) -> Looks: ...


class Bridge(Service):
    """A service where admins set up destinations: also the body of its posts."""

    lane: LaneDefaults = LaneDefaults()
    own_options: tuple[Field, ...] = ()
    # The field of the name. With the host of the `address_field` it makes the core, name@host.
    name_field = "account"
    # Path of the class that connects it, which is loaded on first use.
    oauth = ""
    # The core contains a name chosen by the admin, which may later mean another account.
    core_is_chosen = False

    @property
    def option_fields(self) -> tuple[Field, ...]:
        asked = (
            (EDIT, self.edits),
            (DELETE, self.deletes),
            (WHEN_UNSURE, self.crash_policy is CrashPolicy.HOLD),
        )
        return (*self.own_options, TEMPLATE, *(field for field, is_asked in asked if is_asked), INVITATION)

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        name, host = given[self.name_field], urlsplit(given[self.address_field]).netloc
        secret = {field.name for field in self.destination_fields if field.secret}
        return ParsedDestination(
            core=f"{name}@{host}",
            label=f"{name} at {host}",
            config={name: value for name, value in given.items() if value and name not in secret},
            secrets={name: value for name, value in given.items() if value and name in secret},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Check a destination (see ChannelSpec)."""
        values = account_values(self.key, destination.config["account"]) if self.account_fields else {}
        return self.connect(LaneFacts(self.key, "", credentials=values)).check_destination(destination)

    @property
    def connection(self) -> "OAuth | None":
        """Return None without OAuth."""
        made: OAuth | None = import_string(self.oauth)() if self.oauth else None
        return made

    def place(self, config: Mapping[str, str]) -> str:
        """Return the service's id of the place, or ""."""
        return ""

    def public_page(self, config: Mapping[str, str]) -> str:
        """Return the URL of the account's page, which anybody may read, or ""."""
        return ""

    def shared_account(self, core: str) -> str:
        """Return the core's part before a slash, if accounts are shared."""
        return core.partition("/")[0] if self.account_lane is not None and "/" in core else ""

    def written(self, letter: Letter) -> Any:
        post = announcement_of(letter)
        if refusal := self.refusal(post):
            raise CannotPost(refusal)
        return self.body(post, letter.options)

    def refusal(self, post: Announcement) -> str:
        return post.refusal

    @abstractmethod
    def body(self, post: Announcement, options: Mapping[str, str]) -> Any:
        """Return the post in the form of the service. Pure. Raises DoesNotFit and CannotPost."""

    def preview(self, message: Message[Any]) -> Looks:
        """See Previews."""
        if message.refusal:
            return Looks("", refusal=message.refusal)
        try:
            return self.looks(message.body)
        except DoesNotFit:
            return Looks("", refusal=TOO_LONG)

    @abstractmethod
    def looks(self, body: Any) -> Looks:
        """Pure. Raises DoesNotFit."""
