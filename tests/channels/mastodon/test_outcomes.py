"""The outcome of each response of an instance.

The outcome of an interrupted attempt.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from channels.base import Ambiguous, Permanent, Sent, Temporary
from channels.mastodon.bridge import MastodonBridge
from channels.mastodon.message import Instance, instances
from common.net.client import SafeClient
from common.transactions import NetworkInTransaction
from tests.channels.mastodon.letters import STATUSES, TOO_MANY, Tooting, letter, recipient
from tests.contracts.bridge import IMPATIENT, LINK, PATIENT, closed_port, expect
from tests.contracts.channel import NOW
from tests.servers.mastodon_instance import GOTOSOCIAL, PLEROMA, Reply

LIKE_MASTODON = {"version": "4.2.0 (compatible; Other 1.0)", "source_url": "https://git.example/x/mastodon"}
BEGINNING = "Bees that dance in the hive to tell the others where clover is"


def too_many(**headers: str) -> Reply:
    return Reply(
        429, {"error": "Too many"}, {name.replace("_", "-"): value for name, value in headers.items()}
    )


ANSWERS: dict[str, tuple[Reply, type, tuple[str, ...], dict[str, Any]]] = {
    "rate limit until an ISO time": (
        too_many(X_RateLimit_Reset="2026-03-04T05:11:07.000000Z"),
        Temporary, (), {"retry_at": NOW + timedelta(minutes=5), "stops_lane": True},
    ),
    "rate limit until an epoch": (
        too_many(X_RateLimit_Reset="1772601067"),
        Temporary, (), {"retry_at": NOW + timedelta(minutes=5), "stops_lane": True},
    ),
    "a fraction of a second": (
        too_many(Retry_After="0.75"), Temporary, (), {"retry_at": NOW + timedelta(seconds=0.75)},
    ),
    **{
        f"an unreadable reset {reset[:9]}": (
            too_many(X_RateLimit_Reset=reset), Temporary, (), {"retry_at": None}
        )
        for reset in ("soon", "9" * 40, "2026-13-45T00:00:00Z", "", "-5")
    },
    "never longer than a day": (
        too_many(Retry_After="99999999"), Temporary, (), {"retry_at": NOW + timedelta(days=1)},
    ),
    # It does not undo a success.
    "an unreadable rate limit header": (
        Reply(200, {"id": "77"}, {"X-RateLimit-Reset": "soon", "X-RateLimit-Remaining": "x"}),
        Sent, (), {"remote_id": "77", "url": ""},
    ),
    "a missing scope": (
        Reply(403, {"error": "This action is outside the authorized scopes"}),
        Temporary, (), {"forbidden": True},
    ),
    "an account that is shut out may come back": (
        Reply(403, {"error": "Your login is currently disabled"}),
        Temporary, ("disabled.",), {"stops_lane": True, "forbidden": False},
    ),
    "a firewall's 403": (
        Reply(403, "<html>Checking your browser</html>", {"Content-Type": "text/html"}), Temporary, (), {},
    ),
    "no instance at that address": (
        Reply(404, "<html>nothing here</html>"), Permanent, (), {"disables": False},
    ),
    **{
        f"nothing is proved: {name}": (reply, Ambiguous, (), {})
        for name, reply in {
            "hangs-up": Reply(takes=True, hangs_up=True),
            "html": Reply(body="<html>thank you</html>", takes=True),
            "a-list": Reply(body=[], takes=True),
            "long-id": Reply(body={"id": "1" * 300}, takes=True),
            "no-id": Reply(body={}, takes=True),
            "no-text": Reply(body=b"\xff\xfe", takes=True),
            "deep": Reply(body="[" * 100_000, takes=True),
            "too-long": Reply(body=b" " * 3_000_000, takes=True),
        }.items()
    },
}  # fmt: skip


class TestOutcomes(Tooting):
    @pytest.mark.parametrize("case", ANSWERS)
    def test_an_answer_has_its_outcome(self, case: str) -> None:
        self.service.says, kind, words, fields = ANSWERS[case]
        outcome: Any = expect(self.toot(), kind, *words, **fields)
        assert "scope" not in getattr(outcome, "text", "") or fields.get("forbidden")

    def test_the_status_id_is_kept(self) -> None:
        assert self.toot() == Sent(remote_id="1000", url="https://fake.example/@bot/1000")

    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_no_redirect_is_ever_followed(self, code: int) -> None:
        self.service.says = Reply(code, headers={"Location": f"{self.private.url}{STATUSES}"})
        expect(self.toot(), Temporary, "127.0.0.1")
        assert self.private.requests == []

    def test_posts_wait_for_a_token_in_place_of_a_revoked_one(self) -> None:
        revoked = self.composed(to=recipient(self.url, token="revoked"))
        expect(self.post(revoked), Temporary, "The access token is invalid", forbidden=True)

    def test_a_validation_error_comes_in_the_servers_words(self) -> None:
        self.service.says = Reply(422, {"error": "Validation failed: no"})
        host = self.url.removeprefix("http://")
        assert self.toot() == Permanent(f"{host} answered 422: Validation failed: no.")

    def test_a_status_that_is_too_long_after_all_is_tried_once_more_with_room_to_spare(self) -> None:
        self.service.characters = 430
        self.known = instances()
        self.known.get(self.url, Instance)
        expect(self.toot("Wörter " * 200), Sent)
        assert len(self.service.asked(STATUSES)) == 2

    def test_a_connection_refused_at_the_post_is_temporary(self) -> None:
        self.known, self.url = instances(), closed_port()
        self.known.get(self.url, Instance)  # so that the post is the first request
        expect(self.toot(), Temporary, "refuses connections")

    def test_a_private_address_is_refused_in_clear_words(self) -> None:
        known = instances()
        known.get(self.url, Instance)  # so that the post is the first request
        for each in (known, instances()):
            guarded = MastodonBridge(session=SafeClient().session())
            guarded.known = each
            expect(self.post(on=guarded), Temporary, "private address")
        assert self.service.requests == []

    @pytest.mark.django_db
    def test_a_post_inside_a_transaction_is_our_own_mistake(self) -> None:
        with transaction.atomic(), pytest.raises(NetworkInTransaction):
            self.toot()
        assert self.service.requests == []

    def test_the_token_is_in_no_text(self) -> None:
        for url in (self.url, closed_port()):
            what = self.composed(to=recipient(url, token="very-secret"))
            assert "very-secret" not in f"{what!r} {self.post(what)!r}"

    def test_a_token_that_names_a_file_is_sent_as_it_is(self, tmp_path: Any) -> None:
        secret = tmp_path / "secret"
        secret.write_text("inner-secret")
        self.post(self.channel.compose(letter(), recipient(self.url, token=str(secret))))
        sent = {request.headers["authorization"] for request in self.service.requests}
        assert sent == {f"Bearer {secret}"}


def sent(status_id: str) -> Sent:
    return Sent(remote_id=status_id, url=f"https://fake.example/@bot/{status_id}")


class TestEarlierAttempts(Tooting):
    def begun(self, minutes: int, title: str = "A post", *, key: str = "key-1", **fields: Any) -> Any:
        return self.toot(title, begun_at=NOW - timedelta(minutes=minutes), key=key, **fields)

    def lose(self) -> None:
        """Post; the instance accepts the post, but its response is lost."""
        self.service.says = Reply(takes=True, hangs_up=True)
        expect(self.toot(), Ambiguous)
        self.service.says = None

    def test_a_young_one_is_repeated_with_its_key(self) -> None:
        self.lose()
        assert self.begun(49) == sent("1000")
        assert len(self.service.statuses) == 1
        keys = [request.headers["idempotency-key"] for request in self.service.asked(STATUSES)]
        assert keys == ["key-1", "key-1"]

    @pytest.mark.parametrize("minutes", [50, 600, -1, -90])
    def test_an_old_one_is_found_among_the_last_statuses(self, minutes: int) -> None:
        self.lose()
        assert self.begun(minutes) == sent("1000")
        assert len(self.service.asked(STATUSES)) == 1

    @pytest.mark.parametrize("software", [GOTOSOCIAL, PLEROMA, LIKE_MASTODON, {}])
    def test_a_server_not_known_to_honour_keys_is_asked_at_once(self, software: dict[str, str]) -> None:
        self.service.software, self.service.honours_keys = software, False
        self.lose()
        assert self.begun(1) == sent("1000")
        assert len(self.service.statuses) == 1

    def test_one_that_never_arrived_is_posted(self) -> None:
        assert self.begun(90) == sent("1000")
        assert self.texts == f"[bees] New Post: A post, by Ada {LINK}"

    def test_the_same_link_from_before_the_attempt_does_not_count(self) -> None:
        self.service.now = NOW - timedelta(days=3)
        self.lose()
        self.service.now = NOW
        assert self.begun(120, key="key-2") == sent("1001")

    def test_another_newsletters_post_of_the_same_link_is_not_ours(self) -> None:
        self.lose()
        assert self.begun(60, key="key-2", newsletter="wasps") == sent("1001")

    @pytest.mark.parametrize(
        "reply",
        [Reply(503), Reply(429), Reply(403, {"error": "scopes"}), Reply(body="x"), Reply(silent=True)],
    )
    def test_a_look_up_that_fails_posts_nothing_and_is_held(self, reply: Reply) -> None:
        self.service.paths["/api/v1/accounts/109/statuses"] = reply
        self.timeout = IMPATIENT if reply.silent else PATIENT
        expect(self.begun(90), Ambiguous, "check whether it arrived", holds=True)
        assert self.service.asked(STATUSES) == []

    @pytest.mark.parametrize(("minutes", "holds"), [(1, False), (50, True)])
    def test_an_instance_out_of_reach_is_asked_again_until_its_key_is_gone(
        self, minutes: int, holds: bool
    ) -> None:
        self.url = closed_port()
        expect(self.begun(minutes), Ambiguous, holds=holds)

    @pytest.mark.parametrize("reply", [TOO_MANY, Reply(503), Reply(502)])
    def test_a_repetition_that_has_to_wait_leaves_the_first_attempt_open(self, reply: Reply) -> None:
        self.lose()
        self.service.says = reply
        expect(self.begun(10), Ambiguous, holds=False)

    def test_after_a_look_up_that_found_nothing_the_post_may_wait(self) -> None:
        self.service.says = TOO_MANY
        expect(self.begun(90), Temporary)

    @pytest.mark.parametrize("fields", [{"link": ""}, {"options": {"template": "{title}"}}])
    def test_a_post_without_a_link_is_held_where_a_status_has_the_same_words(
        self, fields: dict[str, Any]
    ) -> None:
        expect(self.toot("Bees", **fields), Sent)
        expect(self.begun(90, "Bees", **fields), Ambiguous, "same text", holds=True)
        assert len(self.service.statuses) == 1

    def test_a_post_without_a_link_is_posted_where_no_status_has_all_its_words(self) -> None:
        expect(self.toot(f"{BEGINNING}, first", link=""), Sent)
        expect(self.begun(90, f"{BEGINNING}, second", key="key-2", link=""), Sent)
        assert len(self.service.statuses) == 2
