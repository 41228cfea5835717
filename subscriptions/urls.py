from django.urls import path

from common.signing import token_paths
from subscriptions.views import mine, newsletters, pages, sign_up, subscription

app_name = "subscriptions"

urlpatterns = [
    path("", newsletters.NewslettersPage.as_view(), name="newsletters"),
    path("look.css", pages.site_look, name="site_look"),
    path("pictures/<str:name>", newsletters.picture, name="picture"),
    path("check-your-mail/", sign_up.asked, name="asked"),
    path("code/", sign_up.CodePage.as_view(), name="code"),
    path("challenge/", sign_up.challenge, name="challenge"),
    *token_paths("confirm/", subscription.ConfirmPage.as_view(), "confirm"),
    *token_paths("unsubscribe/", subscription.LeavePage.as_view(), "unsubscribe"),
    *token_paths("manage/", subscription.ManagePage.as_view(), "manage"),
    path("s/<str:name>/embed/", sign_up.EmbeddedPage.as_view(), name="embed"),
    path("s/<str:name>/subscribe/", sign_up.SitesFormPage.as_view(), name="subscribe"),
    path("v0/subscription/create", sign_up.CreatePage.as_view(), name="v0_create"),
    path("v0/subscription/confirm", sign_up.ConfirmInvitationPage.as_view(), name="v0_confirm"),
    path("v0/subscription/remove", sign_up.LeaveInvitationPage.as_view(), name="v0_remove"),
    path("sign-in/", mine.SignInPage.as_view(), name="sign_in"),
    *token_paths("sign-in/", mine.SignInLinkPage.as_view(), "sign_in_link"),
    path("mine/", mine.MinePage.as_view(), name="mine"),
    path("mine/data/", mine.data, name="mine_data"),
    path("mine/data.json", mine.data_file, name="mine_data_file"),
    path("mine/leave/", mine.LeaveAllPage.as_view(), name="mine_leave"),
    path("mine/erase/", mine.ErasePage.as_view(), name="mine_erase"),
    path("mine/address/", mine.ChangeAddressPage.as_view(), name="mine_address"),
    *token_paths("new-address/", mine.ConfirmAddressPage.as_view(), "new_address"),
    *token_paths("old-address/", mine.UndoAddressPage.as_view(), "old_address"),
    path("mine/sign-out/", mine.sign_out, name="sign_out"),
]
