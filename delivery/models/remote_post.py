"""What stands at a service of a delivery: more than the ledger's row has room for."""

from django.db import models

from delivery.models.delivery import Delivery


class RemotePost(models.Model):
    """Of a post that a bridge sent: where people see it, and a thread's other posts.

    Before it is sent: what was done so far, such as pictures that were uploaded (see Session.send).
    """

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="remote_post"
    )
    url = models.TextField(blank=True, default="")
    # The service's ids, in the order of the thread; the first post's is the delivery's remote_id.
    parts = models.JSONField(default=list)
    progress = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.url or f"of delivery {self.delivery_id}"
