"""Why a job is slow or dies, from the evidence that somebody has of it."""

from .causes import OpenQuestion
from .contradictions import Contradiction
from .data_path import DataPath
from .evidence_pieces import EvidencePiece, Fact
from .fleet import FleetDiagnosis, NodeCause, SlowPair, compare_nodes
from .fleet_readings import NodeReading, OddReading
from .job_cost import JobCost, TrainingCost
from .job_diagnosis import Cause, Diagnosis
from .job_diagnosis import diagnose as diagnose
from .studied_cases import StudiedCase, list_studied_cases

__all__ = [
    "Cause",
    "Contradiction",
    "DataPath",
    "Diagnosis",
    "EvidencePiece",
    "Fact",
    "FleetDiagnosis",
    "JobCost",
    "NodeCause",
    "NodeReading",
    "OddReading",
    "OpenQuestion",
    "SlowPair",
    "StudiedCase",
    "TrainingCost",
    "compare_nodes",
    "list_studied_cases",
]


def __dir__() -> list[str]:
    return sorted(__all__)
