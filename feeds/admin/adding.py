"""Each step is a POST with all data. Nothing is stored before the last."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.options import IS_POPUP_VAR, TO_FIELD_VAR
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.admin.html import ago, page, when
from common.admin.refusals import add_refusal, require
from common.clock import utcnow
from common.net.client import keeps_secrets
from common.text import pluralize
from feeds.adding.add import add_feed
from feeds.adding.discover import Discovery, discover
from feeds.adding.preview import NoPreview, Preview, preview, preview_of, with_whole
from feeds.addresses import MAX_FEED_URL
from feeds.admin.form import FIELD_LABELS, secret_field, text_field
from feeds.admin.tag import TagsField
from feeds.admin_words import tell
from feeds.credentials import MAX_VALUE, split_address
from feeds.models import Feed
from feeds.models.feed import A_MONTH, DELAYS, TIMES
from feeds.polling.poll import poll_feed
from feeds.rules.facts import Delays
from feeds.rules.finality import MINUTE, at_first_sight

OK = 200
CARRIED = (IS_POPUP_VAR, TO_FIELD_VAR)
ANNOUNCE = {
    "never": "The feed asks not to announce this post.",
    "piggyback": "The feed asks to announce this post only together with others.",
}
LAST = 3
MOST = 500
STARTS = (
    (Feed.Start.FROM_NOW.value, "Only new posts"),
    (Feed.Start.LAST.value, "The last few posts, then new ones"),
    (Feed.Start.ALL.value, "All posts in the feed, then new ones"),
)


class SecretsForm(forms.Form):
    user = text_field("User name", MAX_VALUE)
    password = secret_field("Password", is_shown_again=True)

    def credentials(self) -> dict[str, str]:
        return {name: text for name in ("user", "password") if (text := self.cleaned_data.get(name))}


class AddressForm(SecretsForm):
    url = forms.CharField(
        label="Address",
        max_length=MAX_FEED_URL,
        error_messages={"required": "Paste an address, such as https://example.org."},
        help_text="Paste any address: a feed, a blog, a YouTube channel, a Mastodon profile or a GitHub"
        " repository. You choose from its feeds next.",
        widget=UnfoldAdminTextInputWidget(
            attrs={"placeholder": "https://example.org", "inputmode": "url", "autofocus": True}
        ),
    )


def _timing(name: str) -> forms.IntegerField:
    field: Any = Feed._meta.get_field(name)
    return forms.IntegerField(
        label=f"{FIELD_LABELS[name]} (minutes)" if name in DELAYS else FIELD_LABELS[name],
        min_value=0,
        max_value=A_MONTH,
        initial=field.default,
        help_text=field.help_text,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )


class ChoiceForm(SecretsForm):
    """Use `defaults()` for the first display."""

    url = forms.CharField(max_length=MAX_FEED_URL, widget=forms.HiddenInput())
    start = forms.ChoiceField(
        label="Which posts are sent?",
        choices=STARTS,
        initial=Feed.Start.FROM_NOW,
        widget=UnfoldAdminRadioSelectWidget(),
    )
    start_count = forms.IntegerField(
        label="How many",
        required=False,
        min_value=1,
        max_value=MOST,
        initial=LAST,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 1, "max": MOST}),
    )
    tags = TagsField()
    fetch_whole = forms.BooleanField(
        label=FIELD_LABELS["fetch_whole"],
        required=False,
        help_text=Feed._meta.get_field("fetch_whole").help_text,
        widget=UnfoldBooleanWidget(),
    )
    ping = forms.BooleanField(
        label="Send posts as soon as they are seen (ping)",
        required=False,
        help_text="Send immediately, without waiting. The times below don’t apply.",
        widget=UnfoldBooleanWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update({name: _timing(name) for name in TIMES})
        for name in ("user", "password"):
            self.fields[name].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("start") == Feed.Start.LAST and not data.get("start_count"):
            self.add_error("start_count", ValidationError("Enter a number of posts, 1 or more."))
        if not data.get("ping") and data.get("max_delay_minutes", 0) < data.get("min_delay_minutes", 0):
            message = "“At the latest after” must not be less than “Not before”."
            self.add_error("max_delay_minutes", ValidationError(message))
        return data

    def settings(self) -> dict[str, Any]:
        data = self.cleaned_data
        count = data.get("start_count") if data["start"] == Feed.Start.LAST else 0
        times = {name: 0 if data["ping"] else data[name] for name in TIMES}
        return {
            "start": data["start"],
            "start_count": count or 0,
            "fetch_whole": data["fetch_whole"],
            **times,
        }

    def waits(self) -> Feed:
        """Return an unsaved feed with the times as if Ping were off."""
        return Feed(**{name: self.cleaned_data[name] for name in DELAYS})

    def time_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("ping", *TIMES)]

    def times_have_errors(self) -> bool:
        return any(self[name].errors for name in TIMES)


def defaults(**given: Any) -> ChoiceForm:
    """Return a form that is bound to the defaults, so that it can be used like one that was sent."""
    usual = {name: field.initial for name, field in ChoiceForm().fields.items() if field.initial}
    if not Feed.objects.exists():
        # A first newsletter should not begin empty.
        usual["start"] = Feed.Start.LAST
    form = ChoiceForm({**usual, **given})
    form.is_valid()
    return form


class AddingPages:
    def add_view(
        self: Any, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        require(self.has_add_permission(request))
        return Journey(self, request).answer()


class Journey:
    def __init__(self, model_admin: Any, request: HttpRequest) -> None:
        self.admin, self.request, self.now = model_admin, request, utcnow()

    def answer(self) -> HttpResponse:
        if self.request.method != "POST":
            return self.ask(AddressForm(initial={"url": self.request.GET.get("url", "")}))
        steps = {"preview": self.preview, "add": self.add}
        return steps.get(self.request.POST.get("step", ""), self.find)()

    def find(self) -> HttpResponse:
        form = AddressForm(self.request.POST)
        if not form.is_valid():
            return self.ask(form)
        # The address may contain them.
        url, pasted = split_address(form.cleaned_data["url"])
        secrets = form.credentials() or pasted
        try:
            discovery = discover(url, now=self.now, credentials=secrets)
        except ValidationError as error:
            add_refusal(form, error)
            return self.ask(form)
        if not discovery.candidates:
            form.add_error("url", discovery.problem)
            return self.ask(form, discovery, secrets)
        only = discovery.only
        if only is None or only.feed_id or discovery.unread:
            return self.offer(discovery, secrets)
        choice = defaults(url=only.url, **_for_address(only.url, discovery.asked, secrets))
        document = preview_of(only.looked, now=self.now, **choice.settings())
        return self.show(choice, document, back=discovery.asked)

    def preview(self) -> HttpResponse:
        form = self.choice()
        if form["url"].errors:
            return self.ask(AddressForm(self.request.POST))
        valid = form if form.is_valid() else self.choice(usual=True)
        try:
            document = preview(
                valid.cleaned_data["url"], now=self.now, credentials=valid.credentials(), **valid.settings()
            )
        except (NoPreview, ValidationError) as error:
            return self.refuse(error)
        problem = ""
        if valid.cleaned_data["fetch_whole"]:
            document, problem = with_whole(document, now=self.now)
        return self.show(form, document, back=self.request.POST.get("back", ""), problem=problem)

    def choice(self, *, usual: bool = False) -> ChoiceForm:
        data = self.request.POST
        if "start" in data and not usual:
            return ChoiceForm(data)
        url = data.get("url", "")
        secrets = {name: data[name] for name in ("user", "password") if data.get(name)}
        return defaults(url=url, **_for_address(url, data.get("back", url), secrets))

    def add(self) -> HttpResponse:
        form = self.choice()
        if not form.is_valid():
            return self.preview()
        try:
            feed = add_feed(
                url=form.cleaned_data["url"],
                now=self.now,
                credentials=form.credentials(),
                tags=form.cleaned_data["tags"],
                **form.settings(),
            )
        except ValidationError as error:
            return self.refuse(error)
        self.admin.log_addition(self.request, feed, [{"added": {}}])
        messages.success(self.request, "The feed was added.")
        tell(self.request, poll_feed(feed_id=feed.pk, now=utcnow()))
        feed.refresh_from_db()
        if IS_POPUP_VAR in self.request.POST:
            answer: HttpResponse = self.admin.response_add(self.request, feed)
            return answer
        return HttpResponseRedirect(self.admin.page_url(feed.pk))

    def refuse(self, error: Exception) -> HttpResponse:
        form = AddressForm(self.request.POST)
        form.is_valid()
        if isinstance(error, ValidationError):
            add_refusal(form, error)
            return self.ask(form)
        form.add_error("url", str(error))
        status = getattr(error, "status", None)
        asked = form.data.get("url", "")
        discovery = Discovery(asked, may_be_a_feed=status != OK, needs_password=status == 401)
        return self.ask(form, discovery, form.credentials())

    def ask(
        self, form: AddressForm, found: Discovery | None = None, secrets: dict[str, str] | None = None
    ) -> HttpResponse:
        return self.page(
            "add_address.html",
            "Add a feed",
            form=form,
            secrets_open=bool(found and found.needs_password)
            or any(form[name].errors or form[name].value() for name in ("user", "password")),
            # It may be unreachable now.
            may_insist=bool(found and found.may_be_a_feed and not found.needs_password),
            insisted=found.asked if found else "",
            secrets=secrets or {},
        )

    def offer(self, found: Discovery, secrets: dict[str, str]) -> HttpResponse:
        cards = [
            {
                "one": one,
                "id": f"candidate-{number}",
                "latest": [(post.title, when(post.published, "")) for post in one.latest],
                "posts": pluralize(one.posts, "post"),
                "feed_url": one.feed_id,
                "chosen": number == 0,
            }
            for number, one in enumerate(found.candidates)
        ]
        comments = sum(one.is_comments for one in found.candidates)
        words = f"{pluralize(len(found.candidates), 'feed')} found."
        if comments and comments < len(found.candidates):
            words += f" {comments:,} of them {'has' if comments == 1 else 'have'} comments, not posts."
        if found.unread:
            words += f" The page names {found.unread} more that we didn’t read."
        return self.page(
            "add_candidates.html",
            "Which feed?",
            cards=cards,
            asked=found.asked,
            secrets=secrets,
            sentence=words,
        )

    def show(self, form: ChoiceForm, document: Preview, back: str, problem: str = "") -> HttpResponse:
        feed = Feed.objects.filter(url=document.url, dropping=False).order_by("pk").first()
        waits = (form if form.is_valid() else defaults(url=document.url)).waits()
        return self.page(
            "add_preview.html",
            "Add this feed?",
            form=form,
            preview=document,
            posts=[
                {
                    "post": post,
                    "title": post.title or post.link or "Untitled",
                    "facts": " · ".join(filter(None, (", ".join(post.authors), when(post.published, "")))),
                    # By common.html.clean.clean.
                    "excerpt": SafeString(post.excerpt),
                    "note": ANNOUNCE.get(post.announce, ""),
                }
                for post in document.posts
            ],
            problem=problem,
            wait=wait_words(waits),
            at_once=wait_words(Feed(**dict.fromkeys(DELAYS, 0))),
            sent_words=_sent_words(document),
            already=feed,
            already_url=self.admin.page_url(feed.pk) if feed else "",
            back=back,
            media=self.admin.media + form.media,
        )

    def page(self, template: str, title: str, **context: Any) -> HttpResponse:
        data = self.request.POST or self.request.GET
        shared = {
            "title": title,
            # Unfold's heading.
            "model_admin": self.admin,
            "is_popup": IS_POPUP_VAR in data,
            "carried": [(name, data[name]) for name in CARRIED if name in data],
        }
        return page(self.request, f"admin/feeds/{template}", {**shared, **context})


def wait_words(delays: Delays) -> str:
    if at_first_sight(delays):
        return "A post is ready for the next issue as soon as it is seen."
    shortest = (max(delays.min_delay_minutes, delays.await_stabilization_minutes) + 1) * MINUTE
    shortest = min(shortest, (delays.max_delay_minutes + 1) * MINUTE)
    words = (
        f"A post is ready at the first reading {ago(shortest)} after it was first seen, if it doesn’t change."
    )
    if delays.max_delay_minutes:
        words += f" Posts published more than {ago(delays.max_delay_minutes * MINUTE)} ago are ready already."
    return words


def _for_address(url: str, given_for: str, secrets: dict[str, str]) -> dict[str, str]:
    """Another host must not get the secrets."""
    return secrets if url == given_for or keeps_secrets(given_for, url) else {}


def _sent_words(document: Preview) -> str:
    # Repeated in adding.js.
    if not document.total:
        return "The feed has no posts now. New ones will be sent."
    if document.total == 1:
        return f"Its one post {'can be sent' if document.sent else 'won’t be sent'}."
    if not document.sent:
        return f"None of its {document.total:,} posts will be sent."
    return f"{document.sent:,} of its {document.total:,} posts can be sent."
