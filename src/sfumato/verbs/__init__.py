"""The verbs: a table, an algorithm and a privacy model become a release."""

from sfumato.verbs.files import publish_file
from sfumato.verbs.joining import publish_join
from sfumato.verbs.masking import mask
from sfumato.verbs.noise import perturb
from sfumato.verbs.publishing import publish

__all__ = ["mask", "perturb", "publish", "publish_file", "publish_join"]
