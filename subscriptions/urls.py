from django.urls import path

from common.token_paths import token_paths
from subscriptions.views import sign_up
from subscriptions.views.address import change_address, confirm_address, undo_address
from subscriptions.views.confirm import confirm_sign_up, leave_newsletter
from subscriptions.views.mine import data, data_file, erase_me, leave_everything, manage, mine, sign_out
from subscriptions.views.newsletters import newsletter_directory, picture
from subscriptions.views.pages import sign_in, sign_in_link, site_look
from subscriptions.views.sign_up import (
    asked,
    challenge,
    create_upstream,
    embed,
    enter_code,
    subscribe_from_site,
)

app_name = "subscriptions"

urlpatterns = [
    path("", newsletter_directory, name="newsletters"),
    path("look.css", site_look, name="site_look"),
    path("pictures/<str:name>", picture, name="picture"),
    path("check-your-mail/", asked, name="asked"),
    path("code/", enter_code, name="code"),
    path("challenge/", challenge, name="challenge"),
    *token_paths("confirm/", confirm_sign_up, "confirm"),
    *token_paths("unsubscribe/", leave_newsletter, "unsubscribe"),
    *token_paths("manage/", manage, "manage"),
    path("s/<str:name>/embed/", embed, name="embed"),
    path("s/<str:name>/subscribe/", subscribe_from_site, name="subscribe"),
    path("v0/subscription/create", create_upstream, name="v0_create"),
    path("v0/subscription/confirm", sign_up.confirm_upstream, name="v0_confirm"),
    path("v0/subscription/remove", sign_up.remove_upstream, name="v0_remove"),
    path("sign-in/", sign_in, name="sign_in"),
    *token_paths("sign-in/", sign_in_link, "sign_in_link"),
    path("mine/", mine, name="mine"),
    path("mine/data/", data, name="mine_data"),
    path("mine/data.json", data_file, name="mine_data_file"),
    path("mine/leave/", leave_everything, name="mine_leave"),
    path("mine/erase/", erase_me, name="mine_erase"),
    path("mine/address/", change_address, name="mine_address"),
    *token_paths("new-address/", confirm_address, "new_address"),
    *token_paths("old-address/", undo_address, "old_address"),
    path("mine/sign-out/", sign_out, name="sign_out"),
]
