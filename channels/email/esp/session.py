import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from typing import Any

from anymail.exceptions import AnymailAPIError, AnymailError
from anymail.message import AnymailMessage
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.email.esp import message_form
from channels.email.esp.http import EspHttp, Parts, Unanswered, Unsent, message_parts
from channels.email.esp.message_form import Filling, data, form
from channels.email.esp.outcomes import ServiceRefused, of_api_error, of_statuses
from channels.email.esp.services import MailService, Style
from channels.email.esp.settings import EspSettings
from channels.email.letter_form import WireLetter
from channels.email.mail_message import MailMessage
from channels.email.session import MailSession
from channels.letter import Letter, Recipient
from channels.placeholders import values_for
from common.text import one_line, shortened
from common.transactions import forbid_open_transaction

# Octets; services accept 10 to 50 million.
MOST_OCTETS = 8_000_000
FormOf = Callable[[Letter], WireLetter]
log = logging.getLogger(__name__)
REQUEST_SECONDS = 60.0
# If none was accepted before, the cause is the letter.
REFUSALS_BEFORE_VERDICT = 3


@dataclass(frozen=True, slots=True)
class Item:
    """The message has only headers if the service merges; `problem` is why there is none."""

    recipient: Recipient
    parts: Parts | None = None
    problem: str = ""


class Group:
    def __init__(self, service: MailService, host: str, letter: Letter, form_of: FormOf) -> None:
        self._service, self._host, self._letter, self._form_of = service, host, letter, form_of
        self._whole = form_of(letter)
        self._merges = service.style is Style.MERGE
        self._own = form_of(replace(letter, html="", text="")) if self._merges else self._whole

    def chunks(self, recipients: Sequence[Recipient]) -> Iterator[list[Item]]:
        chunk: list[Item] = []
        octets = 0
        for recipient in recipients:
            try:
                item = Item(recipient, message_parts(self._own.message(recipient)))
            except ValueError as error:
                item = Item(recipient, problem=f"The message can’t be built: {error}")
            octets += item.parts.size if item.parts else 0
            if chunk and (octets > MOST_OCTETS or len(chunk) == self._service.batch):
                yield chunk
                chunk, octets = [], item.parts.size if item.parts else 0
            chunk.append(item)
        if chunk:
            yield chunk

    def mail(self, items: Sequence[Item]) -> AnymailMessage:
        if len(items) == 1:
            whole = message_parts(self._whole.message(items[0].recipient))
            return message_form.single_mail(whole, self._service, self._host)
        several = [item.parts for item in items if item.parts]
        letter, service = self._letter, self._service
        if not self._merges:
            return message_form.listed_mail(several, service, self._host)
        unfilled = message_parts(self._form_of(replace(letter, placeholders={})).message(items[0].recipient))
        subject, tokens = one_line(letter.subject), letter.placeholders.values()
        return message_form.merged_mail(
            several,
            service,
            self._host,
            **form(service, tokens, subject=subject, html=unfilled.html, text=unfilled.text),
            data={
                one.address: data(service, letter.placeholders, values_for(letter, item.recipient))
                for one, item in zip(several, items, strict=True)
            },
        )


def backend(target: EspSettings, *, seconds: float) -> Any:
    """Raises ImproperlyConfigured if a package is missing."""
    service, options = target.service, target.options
    made = import_module(f"anymail.backends.{service.backend}").EmailBackend
    if service.style is Style.LIST:
        made = type("Backend", (Filling, made), {"feedletter_service": service})
    if service.backend == "amazon_ses":
        parameters = {
            "aws_access_key_id": target.key,
            "aws_secret_access_key": target.secret,
            "region_name": options["region"],
            # The ledger decides about retries.
            "config": {
                "connect_timeout": min(seconds, 10),
                "read_timeout": seconds,
                "retries": {"max_attempts": 0},
            },
        }
        if "api_url" in options:
            parameters["endpoint_url"] = options["api_url"]
        anymails: dict[str, Any] = {"client_params": parameters}
        if "configuration_set" in options:
            anymails["configuration_set_name"] = options["configuration_set"]
        client: Any = made(**anymails, ignore_recipient_status=True)
        client.open()
        return client
    anymails = {service.options[name]: value for name, value in options.items() if name in service.options}
    anymails[service.key] = target.key
    if service.secret:
        anymails[service.secret] = target.secret
    if service.domain and target.domain:
        anymails[service.domain] = target.domain
    api_url = options.get("api_url") or service.regions.get(options.get("region", "us"), "")
    if api_url:
        anymails["api_url"] = api_url
    if service.backend == "sendgrid":
        anymails["merge_field_format"] = "{}"
    client = made(**anymails, timeout=seconds, ignore_recipient_status=True)
    client.session = EspHttp(seconds=seconds)
    return client


@dataclass
class BatchProgress:
    """`verdict`: the outcome of everything not yet tried."""

    taken: bool = False
    refused: list[Outcome] = field(default_factory=list)
    verdict: Temporary | None = None

    def note(self, outcome: Outcome) -> None:
        # A suppressed address was understood, too.
        self.taken |= isinstance(outcome, Sent | Permanent)
        if isinstance(outcome, Temporary) and outcome.stops_lane:
            self.verdict = outcome

    def note_refused(self, outcome: Outcome) -> None:
        self.refused.append(outcome)
        if len(self.refused) >= REFUSALS_BEFORE_VERDICT and not self.taken:
            self.verdict = self.verdict or Temporary(getattr(outcome, "text", ""))


class EspSession(MailSession):
    """Used by one thread at a time.

    The ledger repeats a request with an unknown outcome for all its recipients, so all may get the letter
    twice.
    """

    def __init__(
        self,
        target: EspSettings,
        *,
        form: FormOf,
        seconds: float = REQUEST_SECONDS,
        backend: Callable[..., Any] = backend,
    ) -> None:
        self.target, self.seconds = target, seconds
        self._form, self._backend = form, backend
        self._client: Any = None

    @property
    def batch(self) -> int:
        return self.target.service.batch

    def outcome(self, message: MailMessage, now: datetime) -> Outcome:
        whole = message_parts(message)
        mail = message_form.single_mail(whole, self.target.service, settings.SITE_HOST)
        result = self._request(mail, [whole.address], now)
        return result.outcome if isinstance(result, ServiceRefused) else result[0]

    def send_batch(self, letter: Letter, recipients: Sequence[Recipient], *, now: datetime) -> list[Outcome]:
        """Return the outcomes in order. Recipients don't see each other."""
        try:
            group = Group(self.target.service, settings.SITE_HOST, letter, self._form)
        except ValueError as error:
            return [Temporary(f"The message can’t be built: {error}")] * len(recipients)
        fortune, outcomes = BatchProgress(), list[Outcome]()
        for chunk in group.chunks(recipients):
            good = [item for item in chunk if not item.problem]
            sent = iter(self._halves(group, good, fortune, now) if good else ())
            outcomes += [Temporary(item.problem) if item.problem else next(sent) for item in chunk]
        if fortune.taken or len(recipients) == 1:
            return outcomes
        # Nobody got it, so the recipients are hardly the cause: retry all.
        return [Temporary(one.text) if isinstance(one, Permanent) else one for one in outcomes]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _halves(
        self, group: Group, items: Sequence[Item], fortune: BatchProgress, now: datetime
    ) -> list[Outcome]:
        """Send one request; if a recipient may have caused a refusal, send each half, recursively."""
        if fortune.verdict:
            return [fortune.verdict] * len(items)
        result = self._request(group.mail(items), [item.parts.address for item in items if item.parts], now)
        if not isinstance(result, ServiceRefused):
            for outcome in result:
                fortune.note(outcome)
            return result
        if len(items) == 1:
            fortune.note_refused(result.outcome)
            return [result.outcome]
        middle = len(items) // 2
        first = self._halves(group, items[:middle], fortune, now)
        return first + self._halves(group, items[middle:], fortune, now)

    def _request(
        self, mail: AnymailMessage, addresses: Sequence[str], now: datetime
    ) -> list[Outcome] | ServiceRefused:
        forbid_open_transaction()
        name = self.target.name
        try:
            if self._client is None:
                self._client = self._backend(self.target, seconds=self.seconds)
            self._client.send_messages([mail])
            return of_statuses(mail, addresses, self.target)
        except Unsent as error:
            outcome: Outcome = Temporary(f"Nothing was sent: {name} {error}.", stops_lane=True)
        except Unanswered as error:
            outcome = Ambiguous(f"A request to {name} went out, but {error}.")
        except AnymailAPIError as error:
            return of_api_error(error, addresses, self.target, now)
        except ImproperlyConfigured as error:
            outcome = Temporary(self._words(error), stops_lane=True)
        except AnymailError as error:
            return ServiceRefused(Temporary(f"This email can’t be sent through {name}: {self._words(error)}"))
        except Exception as error:  # an unexpected answer for anymail, or a defect
            log.exception("a request to an email service failed", extra={"esp": self.target.esp})
            outcome = Ambiguous(
                f"A request to {name} failed with an unexpected error ({type(error).__name__})."
            )
        return [outcome] * len(addresses)

    def _words(self, error: Exception) -> str:
        return self.target.without_secrets(shortened(one_line(str(error)), 300))
