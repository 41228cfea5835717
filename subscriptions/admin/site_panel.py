"""“Put it on your site”: the form, the widget and the link, ready to copy, and how the form looks."""

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import facts, web_link
from common.ports import channels
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.rules.embed_hosts import WILD, sites
from subscriptions.subscribers.sign_up import is_by_code, is_open

WIDGET = "feedletter/widget.js"


def put_on_your_site(subscribable: Subscribable) -> SafeString | str:
    """Where readers subscribe, and what to paste. Nothing for bridges, which nobody signs up for."""
    if not channels.get(subscribable.channel).public_sign_up:
        return ""
    url = page_url(subscribable)
    if not url:
        return "It is private: there is no page for it, and only you add subscribers."
    if not is_open(subscribable):
        return facts([("Its page", web_link(url)), ("Sign-up", "Closed: only you add subscribers.")])
    if is_by_code(subscribable):
        link_there = format_html("<code>{}</code>", link(subscribable, url))
        words = "Readers type their number there, and a code. Put a link to it on your site:"
        return format_html("{}<p>{}</p>", facts([("Its page", web_link(url)), ("How", words)]), link_there)
    context = {
        "url": url,
        "sites": [str(site) for site in sites(subscribable.embed_hosts)],
        "widget": widget(subscribable, url),
        "form": form(subscribable, url),
        "return_to": return_to(subscribable),
        "link": link(subscribable, url),
        "preview": reverse("subscriptions:embed", args=[subscribable.name]),
    }
    return render_to_string("admin/subscriptions/put_on_your_site.html", context)


def widget(subscribable: Subscribable, url: str) -> SafeString:
    """A link that the script turns into the form.

    The script's address has no hash, because it stays on other sites for years.
    """
    script = f"{settings.SITE_URL}{settings.STATIC_URL}{WIDGET}"
    return format_html(
        '<a href="{}" data-feedletter>{}</a>\n<script async src="{}"></script>',
        url,
        _subscribe_to(subscribable),
        script,
    )


def form(subscribable: Subscribable, url: str) -> SafeString:
    """A sign-up form that works on any page, without a script. Its words are the proof of consent."""
    with translation.override(subscribable.language or None):
        asks = SignUpForm(subscribables=[subscribable])
        label, note = str(asks.fields["email"].label), asks.note
    return format_html(
        '<form method="post" action="{}subscribe/">\n'
        '  <label>{} <input type="email" name="email" autocomplete="email" required></label>\n'
        '  <button type="submit">{}</button>\n'
        "  <p>{}</p>\n"
        "</form>",
        url,
        label,
        _subscribe_to(subscribable),
        note,
    )


def return_to(subscribable: Subscribable) -> SafeString:
    """The line that brings readers back."""
    hosts = [str(site).removeprefix(WILD) for site in sites(subscribable.embed_hosts)]
    address = f"https://{hosts[0] if hosts else 'blog.example.org'}/thanks/"
    return format_html('<input type="hidden" name="return_to" value="{}">', address)


def link(subscribable: Subscribable, url: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, _subscribe_to(subscribable))


def _subscribe_to(subscribable: Subscribable) -> str:
    """In the newsletter's language, which is the blog's."""
    with translation.override(subscribable.language or None):
        return SignUpForm(subscribables=[subscribable]).button
