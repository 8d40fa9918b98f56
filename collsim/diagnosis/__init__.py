"""Why a job is slow or dies, from the evidence that somebody has of it."""

from .causes import OpenQuestion
from .diagnosis import Cause, Diagnosis, JobCost, diagnose
from .evidence_pieces import EvidencePiece, Fact

__all__ = ["Cause", "Diagnosis", "EvidencePiece", "Fact", "JobCost", "OpenQuestion", "diagnose"]
