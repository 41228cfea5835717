"""The site's own mails, such as password links. Implements `common.ports.site_mail`."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef

from channels.letter import LetterError
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.ports.site_mail import MailFacts
from common.refused import Refused
from common.secrets import decrypt, encrypt
from delivery.accounts.accounts import keeps_letters, sends_nothing
from delivery.lanes.lanes import mail_to
from delivery.letters.pages import PASSWORD_RESET
from delivery.models import Delivery
from subscriptions.models import Destination
from subscriptions.subscribers.expire import drop_unused

SEALED = "sealed"
INVITATION = "invitation"


class SiteMailByLane:
    """Sends through the default account, before all letters."""

    def is_sent(self) -> bool:
        return not (keeps_letters() or sends_nothing())

    def send(
        self, *, address: str, template: str, context: MailFacts, now: datetime, language: str = ""
    ) -> None:
        try:
            parsed = channels.get("email").parse_destination({"email": address})
        except InvalidDestination as error:
            raise Refused(str(error), "email") from error
        destination, _ = Destination.objects.get_or_create(
            kind="email",
            core=parsed.core,
            defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
        )
        links = {name: str(value) for name, value in context.items() if name.endswith("_url")}
        shown: dict[str, Any] = {name: value for name, value in context.items() if name not in links}
        mail = mail_to(
            destination,
            kind=Delivery.Kind.ALERT,
            key=f"{template}:{uuid.uuid4().hex}",
            template=template,
            context={**shown, SEALED: encrypt(links)} if links else shown,
            now=now,
            language=language,
        )
        mail.save(force_insert=True)

    def forget(self, address: str) -> None:
        try:
            core = channels.get("email").parse_destination({"email": address}).core
        except InvalidDestination:
            return
        # Anyone can type this address, so deleting it must not delete other people's mail.
        mails = Delivery.objects.filter(destination=OuterRef("pk"))
        others = mails.exclude(template__in=(PASSWORD_RESET, INVITATION))
        ours = Destination.objects.filter(~Exists(others), kind="email", core=core)
        drop_unused(ours.values_list("pk", flat=True))


def opened_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context with its encrypted links. Raises LetterError."""
    if SEALED not in context:
        return dict(context)
    try:
        links = decrypt(str(context[SEALED]))
    except ValueError as error:
        raise LetterError(str(error)) from error
    return {name: value for name, value in context.items() if name != SEALED} | links
