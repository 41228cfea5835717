"""The outcome of an interrupted attempt."""

from datetime import timedelta
from typing import Any

import pytest

from channels.base import Ambiguous, Sent, Temporary
from tests.channels.mastodon.letters import STATUSES, TOO_MANY, Tooting
from tests.contracts.bridge import IMPATIENT, LINK, PATIENT, closed_port, expect
from tests.contracts.channel import NOW
from tests.servers.mastodon_instance import GOTOSOCIAL, PLEROMA, Reply

LIKE_MASTODON = {"version": "4.2.0 (compatible; Other 1.0)", "source_url": "https://git.example/x/mastodon"}
BEGINNING = "Bees that dance in the hive to tell the others where clover is"


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
