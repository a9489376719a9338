"""What verify looks at before it believes a promise.

A release is made by somebody, and verify is for those who do not know whom to trust. So nothing in
it may say more than it has to: files are written again and compared (``files``), release.json is
put together again from what it describes (``statements``), values have one spelling
(``spellings``), every count and figure is computed again (``figures``), and groups are such as the
algorithm makes (``groups``). Each yields what is wrong, in words.
"""

from sfumato.audits.checks.figures import other_figures
from sfumato.audits.checks.files import doubled_columns, other_files, strangers
from sfumato.audits.checks.spellings import other_spellings
from sfumato.audits.checks.statements import other_statements

__all__ = [
    "doubled_columns",
    "other_figures",
    "other_files",
    "other_spellings",
    "other_statements",
    "strangers",
]
