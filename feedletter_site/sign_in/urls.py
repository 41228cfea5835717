from django.urls import path

from common.token_paths import token_paths
from feedletter_site.sign_in import own_site, readers

urlpatterns = [
    path("sign-in/site/", own_site.begin_sign_in, name="reader_sign_in_site"),
    path("sign-in/site/back/", own_site.finish_sign_in, name="reader_sign_in_back"),
    path("sign-in/", readers.ReaderSignIn.as_view(), name="reader_sign_in"),
    path("sign-out/", readers.ReaderSignOut.as_view(), name="reader_sign_out"),
    path("join/", readers.join, name="reader_join"),
    path("password-reset/", readers.ReaderReset.as_view(), name="reader_password_reset"),
    path("password-reset/sent/", readers.ReaderResetTold.as_view(), name="reader_password_reset_done"),
    *token_paths(
        "password-reset/<uidb64>/", readers.ReaderNewPassword.as_view(), "reader_password_reset_link"
    ),
]
