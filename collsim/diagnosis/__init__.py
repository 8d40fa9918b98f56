"""Why a job is slow or dies, from the evidence that somebody has of it."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
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

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "causes": ("OpenQuestion",),
            "contradictions": ("Contradiction",),
            "data_path": ("DataPath",),
            "evidence_pieces": ("EvidencePiece", "Fact"),
            "fleet": ("FleetDiagnosis", "NodeCause", "SlowPair", "compare_nodes"),
            "fleet_readings": ("NodeReading", "OddReading"),
            "job_cost": ("JobCost", "TrainingCost"),
            "job_diagnosis": ("Cause", "Diagnosis", "diagnose"),
            "studied_cases": ("StudiedCase", "list_studied_cases"),
        },
    )
