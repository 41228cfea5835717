from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from common.clock import utcnow
from reader.channels.channels import channel_of
from reader.inbox.addresses import add_address, alter_address, is_offered, recipient_of, replace_key
from reader.inbox.take import accept, refuse
from reader.models import Channel, MailAddress, MailSource
from reader.pages.access import ReaderPage
from reader.rules.order import number_in

MOST_SHOWN, MOST_SUBJECTS = 200, 5


class MailPage(ReaderPage):
    """Addresses and senders. A POST (`act`) changes one of them, or makes an address."""

    template_name = "reader/mail.html"
    section = "mail"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # Strangers are sent to sign in, as everywhere.
        if request.user.is_authenticated and not is_offered():
            raise Http404("This site doesn’t receive email.")
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest) -> HttpResponse:
        given, now = request.POST, utcnow()
        act = given.get("act", "")
        match act:
            case "add":
                add_address(
                    reader=self.reader, channel=self.chosen(), asks_first="asks_first" in given, now=now
                )
            case "alter":
                alter_address(address=self.address(), channel=self.chosen(), asks_first="asks_first" in given)
            case "replace":
                replace_key(address=self.address(), now=now)
            case "delete":
                self.address().delete()
            case "accept":
                if not accept(source=self.source(), now=now):
                    return redirect(f"{reverse('reader:mail')}?limit")
            case "refuse":
                refuse(source=self.source())
        return redirect("reader:mail")

    def chosen(self) -> Channel | None:
        uid = self.request.POST.get("channel", "")
        return channel_of(self.reader, uid) if uid else None

    def address(self) -> MailAddress:
        return get_object_or_404(self.reader.mail_addresses, pk=self.key("address"))

    def source(self) -> MailSource:
        return get_object_or_404(self.reader.mail_sources, pk=self.key("source"))

    def key(self, name: str) -> int:
        return number_in(self.request.POST.get(name, "")) or 0

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        addresses = self.reader.mail_addresses.select_related("channel")
        sources = list(self.reader.mail_sources.order_by("-pk")[:MOST_SHOWN])
        state = MailSource.State
        context = {
            "addresses": [(address, recipient_of(address)) for address in addresses],
            "held": [(source, _subjects(source)) for source in sources if source.state == state.HELD],
            "refused": [source for source in sources if source.state == state.REFUSED],
            "limit": "limit" in self.request.GET,
            "accepted": [source for source in sources if source.state == state.ACCEPTED],
        }
        return super().get_context_data(**{**context, **kwargs})


def _subjects(source: MailSource) -> list[str]:
    rows = source.messages.filter(held__isnull=False).order_by("-pk")
    return [str(subject) for subject in rows.values_list("held__post__title", flat=True)[:MOST_SUBJECTS]]
