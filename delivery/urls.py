"""URLs of newsletters, issues and the built-in mailbox."""

from django.urls import path

from delivery.views import devices, mailbox, preview, rss, sitemaps
from delivery.views.esp_webhook import sms_inbound, sms_status
from delivery.views.hub import hub
from delivery.views.issue_picture import issue_picture
from delivery.views.newsletter import NewsletterPage, publication

app_name = "delivery"

urlpatterns = [
    path("s/<str:name>/", NewsletterPage.as_view(), name="newsletter"),
    path("s/<str:name>/archive/", rss.archive, name="archive"),
    path("s/<str:name>/archive/<int:pk>/", rss.issue, name="issue"),
    path("s/<str:name>/archive/<int:pk>/picture.png", issue_picture, name="issue_picture"),
    path("s/<str:name>/sitemap.xml", sitemaps.sitemap, name="sitemap"),
    path("hub/", hub, name="hub"),
    path("sitemap.xml", sitemaps.sitemap_index, name="sitemap_index"),
    path("s/<str:name>/look.css", preview.look_css, name="look"),
    path("s/<str:name>/.well-known/site.standard.publication", publication, name="publication"),
    path(".well-known/site.standard.publication", publication, name="publication"),
    path(".well-known/site.standard.publication/s/<str:name>", publication, name="publication"),
    path(".well-known/site.standard.publication/s/<str:name>/", publication, name="publication"),
    path("s/<str:name>/feed.xml", rss.feed, name="feed"),
    path("sms/<slug:account>/inbound/", sms_inbound, name="sms_inbound"),
    path("sms/<slug:account>/status/<int:pk>/", sms_status, name="sms_status"),
    path("s/<str:name>/device/", devices.device, name="device"),
    path("s/<str:name>/app.webmanifest", devices.manifest, name="manifest"),
    path("push-worker.js", devices.worker, name="push_worker"),
    path("push-renewed/", devices.renewed, name="push_renewed"),
    path("mailbox/", mailbox.mailbox, name="mailbox"),
    path("mailbox/issue/<int:pk>/", mailbox.issue_in_mailbox, name="mailbox_issue"),
    path("mailbox/<int:pk>/", mailbox.message, name="message"),
    path("mailbox/<int:pk>/html/", mailbox.message_html, name="message_html"),
]
