"""Two people use an invitation at the same moment: it accepts one of them."""

from threading import Barrier, Thread

import pytest
from django.db import connection

from common.clock import utcnow
from common.refused import Refused
from reader.models import Invitation, Reader
from reader.people.invitations import accept, invite

pytestmark = pytest.mark.django_db(transaction=True)


def come_together(*pairs: tuple[str, str]) -> list[str]:
    """Accept each pair of a key and a name in a thread each; return the refusals."""
    start, refused = Barrier(len(pairs), timeout=10), list[str]()

    def come(key: str, name: str) -> None:
        start.wait()
        try:
            accept(key=key, name=name, now=utcnow())
        except Refused as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [Thread(target=come, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def a_key() -> str:
    return invite(name="eve", now=utcnow())[1].rstrip("/").rpartition("/")[2]


def test_of_two_with_one_invitation_one_comes_in() -> None:
    key = a_key()
    assert come_together((key, "eve"), (key, "mallory")) == ["This invitation was already used."]
    assert Reader.objects.get() == Invitation.objects.get().reader


def test_of_two_who_want_one_name_one_gets_it_and_the_other_may_try_again() -> None:
    (refused,) = come_together((a_key(), "eve"), (a_key(), "eve"))
    assert "eve" in refused
    assert Reader.objects.count() == 1
    assert Invitation.objects.filter(used_at=None).count() == 1
