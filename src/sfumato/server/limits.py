"""How much one token may ask: rate, concurrency, and sizes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sfumato.errors import ParameterError
from sfumato.server.errors import ApiError

_PAUSE = 10.0  # seconds after which the bucket of failures is full again


@dataclass(frozen=True, slots=True)
class Limits:
    """Per token, except ``together`` and ``failures``, which are over all.

    ``seconds`` is for the questions of a request, and again for its body to come.
    """

    rate: float = 100.0  # questions a second, in the long run
    burst: int = 1_000  # questions at once after a pause
    concurrency: int = 32
    together: int = 256
    body: int = 1_048_576
    batch: int = 1_000
    groups: int = 10_000
    seconds: float = 10.0
    failures: float = 10.0  # a second: requests without a valid token where one is needed

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


@dataclass(slots=True)
class _Use(_Bucket):
    """A token's bucket of questions, and how many of its requests are under way."""

    running: int = 0


@dataclass(slots=True)
class Meter:
    """Who uses how much; only valid tokens get here, so there are few."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    running: int = 0
    _uses: dict[str, _Use] = field(default_factory=dict)
    _failures: _Bucket = field(default_factory=lambda: _Bucket(math.inf, 0.0))

    @contextmanager
    def request(self, who: str) -> Iterator[None]:
        """Hold a place while a request is under way, or refuse it."""
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
        try:
            yield
        finally:
            self.running -= 1
            use.running -= 1

    def take(self, who: str, questions: int) -> None:
        """Pay for questions out of the bucket, or refuse them."""
        limits = self.limits
        # a batch larger than the bucket waits for a full one
        price = min(questions, limits.burst)
        wait = self._use(who).take(price, self.clock(), rate=limits.rate, most=limits.burst)
        if wait:
            raise _limited(f"more than {limits.rate:g} questions a second", wait)

    def fail(self) -> None:
        """Count a request of somebody unknown; beyond the limit they are told to wait.

        Valid tokens never get here, so nobody can use up what others need.
        """
        rate = self.limits.failures
        wait = self._failures.take(1, self.clock(), rate=rate, most=max(1.0, _PAUSE * rate))
        if wait:
            raise _limited("too many requests without a valid token", wait)

    def _use(self, who: str) -> _Use:
        use = self._uses.get(who)
        if use is None:
            use = self._uses[who] = _Use(self.limits.burst, self.clock())
        return use


def _limited(message: str, wait: float) -> ApiError:
    return ApiError(
        "rate_limited", message, "wait as many seconds as Retry-After says", retry_after=wait
    )
