"""How much one token may ask: work, concurrency, and sizes.

Questions are paid for by the work that they are expected to take (costs.py), a plain one with 1.
What cannot be known before a question is read is paid afterwards: a bucket may then be in debt, and
whoever emptied it waits until it is filled again.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sfumato.errors import ParameterError
from sfumato.server.errors import ApiError

_PAUSE = 10.0  # seconds after which the bucket of failures is full again
_STRANGERS = 10_000  # addresses whose failures are remembered


@dataclass(frozen=True, slots=True)
class Limits:
    """Per token, except ``together`` and ``connections``, which are over all.

    ``seconds`` is for the questions of a request, and again for its body to come. ``failures`` is
    per address.
    """

    rate: float = 100.0  # plain questions a second, in the long run, or what costs as much
    burst: int = 1_000  # the same, at once after a pause
    concurrency: int = 32
    together: int = 256
    body: int = 1_048_576
    batch: int = 1_000
    groups: int = 10_000
    seconds: float = 10.0
    failures: float = 10.0  # a second: requests without a valid token where one is needed
    head: int = 294_912  # bytes of a request before its body: a long question, and headers
    head_seconds: float = 10.0
    connections: int = 512

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} must be more than 0", parameter=name)


@dataclass(slots=True)
class _Bucket:
    """What may be taken: at once what is in it, in the long run what flows in."""

    left: float
    at: float

    def take(self, price: float, now: float, *, rate: float, most: float) -> float:
        """Take it out, or nothing; the seconds until there is enough."""
        self.left = min(most, self.left + (now - self.at) * rate)
        self.at = now
        if self.left < price:
            return (price - self.left) / rate
        self.left -= price
        return 0.0

    def charge(self, price: float, most: float) -> None:
        """Take out what has been used already; no debt is larger than the bucket."""
        self.left = max(self.left - price, -most)


@dataclass(slots=True)
class _Use(_Bucket):
    """A token's bucket of questions, and how many of its requests are under way."""

    turns: asyncio.Semaphore = field(kw_only=True)
    running: int = 0


@dataclass(slots=True)
class Meter:
    """Who uses how much; only valid tokens get here, so there are few.

    Nobody has more than ``threads`` questions worked on at a time; the others' find a free thread.
    """

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    threads: int = 2
    running: int = 0
    _uses: dict[str, _Use] = field(default_factory=dict)
    _failures: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    @contextmanager
    def request(self, who: str) -> Iterator[None]:
        """Hold a place while a request is under way, or refuse it."""
        self.enter(who)
        try:
            yield
        finally:
            self.leave(who)

    def enter(self, who: str) -> None:
        """Take a place, which is to be left again, or refuse it."""
        use = self._use(who)
        if self.running >= self.limits.together or use.running >= self.limits.concurrency:
            own = use.running >= self.limits.concurrency
            of = f"{self.limits.concurrency} of yours" if own else "too many requests"
            raise ApiError(
                "busy",
                f"{of} are under way",
                "wait for an answer before you ask again, or send questions as one batch",
                retry_after=1,
            )
        self.running += 1
        use.running += 1

    def leave(self, who: str) -> None:
        """Give a place back."""
        self.running -= 1
        self._use(who).running -= 1

    def turns(self, who: str) -> asyncio.Semaphore:
        """What has to be held while a thread works for somebody."""
        return self._use(who).turns

    def take(self, who: str, cost: float) -> None:
        """Pay for questions out of the bucket, or refuse them."""
        limits = self.limits
        # a batch larger than the bucket waits for a full one
        price = min(cost, limits.burst)
        wait = self._use(who).take(price, self.clock(), rate=limits.rate, most=limits.burst)
        if wait:
            raise _limited(
                f"more than {limits.rate:g} questions a second, of which long ones and those with "
                "many groups count as several",
                wait,
            )

    def charge(self, who: str, cost: float) -> None:
        """Pay for work that is done."""
        self._use(who).charge(cost, self.limits.burst)

    def fail(self, address: str) -> None:
        """Count a request of somebody unknown; beyond the limit they are told to wait.

        Valid tokens never get here, and everybody has an address: nobody can use up what others
        need, not even to be asked for a token.
        """
        now, rate = self.clock(), self.limits.failures
        most = max(1.0, _PAUSE * rate)
        bucket = self._failures.setdefault(address, _Bucket(most, now))
        self._failures.move_to_end(address)
        if len(self._failures) > _STRANGERS:
            self._failures.popitem(last=False)
        wait = bucket.take(1, now, rate=rate, most=most)
        if wait:
            raise _limited("too many requests without a valid token", wait)

    def _use(self, who: str) -> _Use:
        use = self._uses.get(who)
        if use is None:
            turns = asyncio.Semaphore(self.threads)
            use = self._uses[who] = _Use(self.limits.burst, self.clock(), turns=turns)
        return use


def _limited(message: str, wait: float) -> ApiError:
    return ApiError(
        "rate_limited", message, "wait as many seconds as Retry-After says", retry_after=wait
    )
