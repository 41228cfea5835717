from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from anymail.message import AnymailMessage

from channels.email.esp import mails
from channels.email.esp.http import Parts, message_parts
from channels.email.esp.message_form import data, form
from channels.email.esp.services import MailService, Style
from channels.email.letter_form import WireLetter
from channels.letter import Letter, Recipient
from channels.placeholders import values_for
from common.text import one_line

# Octets; services accept 10 to 50 million.
MOST_OCTETS = 8_000_000

FormOf = Callable[[Letter], WireLetter]


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
            return mails.single_mail(whole, self._service, self._host)
        several = [item.parts for item in items if item.parts]
        letter, service = self._letter, self._service
        if not self._merges:
            return mails.listed_mail(several, service, self._host)
        unfilled = message_parts(self._form_of(replace(letter, placeholders={})).message(items[0].recipient))
        subject, tokens = one_line(letter.subject), letter.placeholders.values()
        return mails.merged_mail(
            several,
            service,
            self._host,
            form=form(service, tokens, subject=subject, html=unfilled.html, text=unfilled.text),
            data={
                one.address: data(service, letter.placeholders, values_for(letter, item.recipient))
                for one, item in zip(several, items, strict=True)
            },
        )
