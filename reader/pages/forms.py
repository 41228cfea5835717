from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib.auth.forms import SetPasswordMixin
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy, ngettext

from common.clock import zone_names
from common.text import one_line
from feeds.addresses import MAX_FEED_URL
from reader.models import Channel, Letters, Reader
from reader.people.readers import LONGEST_SLUG
from reader.rules.order import number_in
from reader.rules.saving import is_template

CHOOSE_ONE = gettext_lazy("Choose one of the options on the page.")
LONGEST_KEPT = 3_650


class LineField(forms.CharField):
    """Optional text of one line, cut to a length. It is shown again like that."""

    def __init__(self, *, longest: int | None = None) -> None:
        super().__init__(required=False, initial="")
        self.longest = longest

    def to_python(self, value: Any) -> str:
        return one_line(super().to_python(value) or "")[: self.longest]

    def bound_data(self, data: Any, initial: Any) -> str:
        return self.to_python(data)


class NameForm(forms.Form):
    name = forms.SlugField(
        label=gettext_lazy("Your name here"),
        help_text=gettext_lazy("lower-case letters, digits and hyphens; used in addresses"),
        max_length=LONGEST_SLUG,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).lower()


class NewcomerForm(SetPasswordMixin, NameForm):  # type: ignore[type-arg]
    shows_password = True
    email = forms.EmailField(
        label=gettext_lazy("Your email address"),
        help_text=gettext_lazy("optional; to reset your password, and for emails that you switch on"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password1 = SetPasswordMixin.create_password_fields()[0]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].widget.attrs["data-show"] = gettext("Show")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        user = User(username=data.get("name", ""), email=data.get("email", ""))
        self.validate_password_for_user(user, "password1")
        return data


class AppPasswordForm(forms.Form):
    app = forms.CharField(required=False)


class FollowForm(forms.Form):
    url = LineField(longest=MAX_FEED_URL)
    channel = forms.CharField(required=False, initial="")
    new_channel = LineField()


class ReadingForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Reader
        fields = ("unread_only", "oldest_first", "corrected_unread", "save_name", "save_template")
        labels = {  # noqa: RUF012 - Django's name and type
            "unread_only": gettext_lazy("Show unread posts only"),
            "oldest_first": gettext_lazy("Show the oldest posts first"),
            "corrected_unread": gettext_lazy("Mark corrected posts as unread"),
            "save_name": gettext_lazy("Save posts to"),
            "save_template": gettext_lazy("Its address for a post"),
        }
        help_texts = {  # noqa: RUF012 - Django's name and type
            "save_name": gettext_lazy("a read-later service, such as Instapaper or Wallabag"),
            "save_template": gettext_lazy(
                "must contain {url}, and can contain {title}; leave empty for none"
            ),
        }
        widgets = {"save_template": forms.TextInput({"list": "services"})}  # noqa: RUF012 - as above

    def clean_save_template(self) -> str:
        template = str(self.cleaned_data["save_template"]).strip()
        if template and not is_template(template):
            raise forms.ValidationError(
                gettext("Enter an address that starts with https:// and has {url} after its host.")
            )
        return template

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("save_template") and not data.get("save_name"):
            data["save_name"] = urlsplit(data["save_template"]).hostname or ""
            data["save_name"] = data["save_name"].removeprefix("www.")[:40]
        return data


class PicksForm(forms.ModelForm):  # type: ignore[type-arg]
    picks = forms.ChoiceField(
        label=gettext_lazy("Who can read them"),
        choices={
            Reader.Picks.OFF: gettext_lazy("nobody (off)"),
            Reader.Picks.PRIVATE: gettext_lazy("anyone with the feed’s address"),
            Reader.Picks.PUBLIC: gettext_lazy("everyone, also on a page"),
        },
        error_messages={"required": CHOOSE_ONE, "invalid_choice": CHOOSE_ONE},
    )

    class Meta:
        model = Reader
        fields = ("picks", "picks_title")
        labels = {"picks_title": gettext_lazy("Title")}  # noqa: RUF012 - Django's name and type


class NewChannelForm(forms.Form):
    name = forms.CharField(required=False)


class ChannelForm(forms.Form):
    keep = forms.CharField(required=False, strip=False)
    unread = forms.ChoiceField(
        choices={
            Channel.UnreadMode.COUNT: gettext_lazy("number of unread posts"),
            Channel.UnreadMode.FLAG: gettext_lazy("whether there are unread posts"),
            Channel.UnreadMode.OFF: gettext_lazy("nothing"),
        },
        error_messages={"required": CHOOSE_ONE, "invalid_choice": CHOOSE_ONE},
    )
    layout = forms.ChoiceField(
        choices={
            # Translators: a layout of posts.
            Channel.Layout.LIST: gettext_lazy("list"),
            Channel.Layout.CARDS: gettext_lazy("as cards"),
            Channel.Layout.GALLERY: gettext_lazy("pictures first"),
        },
        required=False,
        error_messages={"invalid_choice": CHOOSE_ONE},
    )
    name = forms.CharField(required=False)
    published = forms.BooleanField(required=False)

    def clean_keep(self) -> int | None:
        keep = self.cleaned_data["keep"]
        days = number_in(keep)
        if keep and (not days or days > LONGEST_KEPT):
            words = ngettext(
                "Enter a whole number of days, at most %(days)s.",
                "Enter a whole number of days, at most %(days)s.",
                LONGEST_KEPT,
            )
            raise forms.ValidationError(words, params={"days": LONGEST_KEPT})
        return days


class LettersForm(forms.ModelForm):  # type: ignore[type-arg]
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"), choices=lambda: [(name, name) for name in sorted(zone_names())]
    )

    class Meta:
        model = Letters
        labels = {  # noqa: RUF012 - Django's name and type
            "arrangement": gettext_lazy("How often"),
            "weekday": gettext_lazy("Day, if weekly"),
            "at": gettext_lazy("Time"),
            "time_zone": "",
            "content": gettext_lazy("Posts as"),
            "max_posts": gettext_lazy("At most this many posts"),
            "unread_only": gettext_lazy("Unread posts only"),
            "mark_read": gettext_lazy("Mark posts as read once they are sent"),
        }
        fields = tuple(labels)
        widgets = {"at": forms.TimeInput({"type": "time"}, "%H:%M")}  # noqa: RUF012 - as above

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.key:
            self.initial["time_zone"] = settings.TIME_ZONE
            self.fields["time_zone"].widget.attrs["data-of-browser"] = ""


class EmailForm(forms.Form):
    """Needs the password, which the address can reset."""

    email = forms.EmailField(
        label=gettext_lazy("Your email address"),
        help_text=gettext_lazy("to reset your password and for emails you switch on; leave empty for none"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        # Counts and logs wrong ones, as the sign-in does.
        if not get_adapter().reauthenticate(self.user, password):
            raise forms.ValidationError(gettext("The password is wrong."))
        return password


class ErasureForm(EmailForm):
    email = None  # type: ignore[assignment]
    sure = forms.BooleanField(label=gettext_lazy("Yes, delete everything permanently"))
