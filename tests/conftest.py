"""Settings shared by every test."""

from hypothesis import settings

# The first example of a test may compile a kernel, so time limits would fail at random.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")
