"""How much one token may ask: rate, concurrency, and sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sfumato.errors import ParameterError
from sfumato.server.errors import ApiError


@dataclass(frozen=True, slots=True)
class Limits:
    """Per token, except ``together``: requests at once over all tokens."""

    rate: float = 100.0  # questions a second, in the long run
    burst: int = 1_000  # questions at once after a pause
    concurrency: int = 32
    together: int = 256
    body: int = 1_048_576
    batch: int = 1_000
    groups: int = 10_000
    seconds: float = 10.0

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} must be more than 0", parameter=name)


@dataclass(slots=True)
class _Use:
    """A token's bucket of questions, and how many of its requests are under way."""

    left: float
    at: float
    running: int = 0


@dataclass(slots=True)
class Meter:
    """Who uses how much; only valid tokens get here, so there are few."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    running: int = 0
    _uses: dict[str, _Use] = field(default_factory=dict)

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
        use, now, limits = self._use(who), self.clock(), self.limits
        use.left = min(limits.burst, use.left + (now - use.at) * limits.rate)
        use.at = now
        # a batch larger than the bucket waits for a full one
        price = min(questions, limits.burst)
        if use.left < price:
            raise ApiError(
                "rate_limited",
                f"more than {limits.rate:g} questions a second",
                "wait as many seconds as Retry-After says",
                retry_after=(price - use.left) / limits.rate,
            )
        use.left -= price

    def _use(self, who: str) -> _Use:
        use = self._uses.get(who)
        if use is None:
            use = self._uses[who] = _Use(self.limits.burst, self.clock())
        return use
