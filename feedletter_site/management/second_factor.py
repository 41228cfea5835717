from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User

from common.cli.commands import FeedletterCommand, Printed, Result, argument, find


class RemoveSecondFactor(FeedletterCommand):
    help = "Removes a user's authenticator app, passkeys and recovery codes. The password stays."
    arguments = (
        argument("name", metavar="NAME", help="The user's name, as typed at the sign-in."),
        argument("--identities", action="store_true", help="Also disconnect OpenID Connect identities."),
    )

    def run(self, **options: Any) -> Result:
        user = find(User.objects.all(), "user", "The admin lists them under Team.", username=options["name"])
        removed, _ = Authenticator.objects.filter(user=user).delete()
        if options["identities"]:
            removed += SocialAccount.objects.filter(user=user).delete()[0]
        words = "has no second factor any more" if removed else "had no second factor"
        return Printed(f"{user} {words}.", {"user": user.get_username(), "removed": removed})
