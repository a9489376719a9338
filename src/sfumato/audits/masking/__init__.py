"""What masks leave and what they give away, measured by the owner of the table."""

from sfumato.audits.masking.moments import Moment, moments_of
from sfumato.audits.masking.risk import MaskingRisk, masking_risk

__all__ = ["MaskingRisk", "Moment", "masking_risk", "moments_of"]
