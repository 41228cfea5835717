"""Redis cache with the process's own memory as fallback."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisSerializer
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common.counters import count

log = logging.getLogger(__name__)

REST_SECONDS = 5.0
PATIENCE_SECONDS = 1.0


class _State:
    """Per process: Django makes a cache for every thread."""

    away = False
    ask_at = float("-inf")


def _steady(name: str) -> Callable[..., Any]:
    def ask(self: "SteadyRedisCache", *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= _State.ask_at:
            try:
                answer = getattr(RedisCache, name)(self, *args, **kwargs)
            except (RedisError, OSError) as error:
                _State.ask_at = time.monotonic() + REST_SECONDS
                if not _State.away:
                    _State.away = True
                    count("trouble", "redis_away")
                    log.warning("Redis is away; this process uses its memory instead: %s", error)
            else:
                if _State.away:
                    _State.away = False
                    log.warning("Redis is back.")
                return answer
        return getattr(self.spare, name)(*args, **kwargs)

    return ask


class ForgetfulSerializer(RedisSerializer):
    """Treat values that this release cannot unpickle as missing."""

    def loads(self, data: Any) -> Any:
        try:
            return super().loads(data)
        except Exception as error:  # noqa: BLE001 - unpickling may raise anything; a cache may forget
            log.info("what another release remembered is forgotten: %s", error)
            return None


class SteadyRedisCache(RedisCache):
    """Never raises an error of Redis, but may lose its values at any time."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "socket_connect_timeout": PATIENCE_SECONDS,
            "socket_timeout": PATIENCE_SECONDS,
            "retry": Retry(NoBackoff(), 0),
            "serializer": ForgetfulSerializer,
            **params.get("OPTIONS", {}),
        }
        super().__init__(server, {**params, "OPTIONS": options})
        self.spare = LocMemCache("while Redis is away", {"OPTIONS": {"MAX_ENTRIES": 100_000}})

    add = _steady("add")
    get = _steady("get")
    set = _steady("set")
    touch = _steady("touch")
    delete = _steady("delete")
    get_many = _steady("get_many")
    has_key = _steady("has_key")
    incr = _steady("incr")
    set_many = _steady("set_many")
    delete_many = _steady("delete_many")
    clear = _steady("clear")
