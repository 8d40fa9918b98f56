"""What NCCL would do and how long it would take: its own tuner, and a model of the algorithm over the machine's links.

`predict` answers with both, `predict_and_simulate` also simulates the algorithm that NCCL would choose,
`explain_difference` says why prediction and simulation differ. `evaluate_accuracy` compares the model with tables of
published runs, `fit_calibration` fits it to a cluster's own measurements, `recommend_backend` says which backend
torch.distributed should use. `load_published_runs` are measured runs, `explain_gap` names the hypothesis that explains
the gap between a prediction and a measured run, `predict_choices` and `compare_ring_and_tree` say what NCCL would do
over sizes and numbers of nodes, `search_graphs` finds the rings, trees and NVLS heads on a machine's links.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .algorithm_choices import Crossover, compare_ring_and_tree, predict_choices
    from .difference import Difference, explain_difference, predict_with_simulation
    from .libraries import mpi
    from .libraries.backends import BackendAdvice, get_support, recommend_backend
    from .libraries.gloo import predict_gloo_interval, predict_gloo_time
    from .link_calibration import Calibration, fit_calibration
    from .machine.machine_facts import Facts
    from .machine.machine_words import parse_facts
    from .machine.topology_facts import GraphSearch, read_facts, search_graphs
    from .measured.gaps import Gap, explain_gap
    from .measured.measurement_value import evaluate_measurement_value
    from .measured.prediction_accuracy import Accuracy, evaluate_accuracy
    from .measured.published_runs import (
        MeasuredRun,
        compare_published_runs,
        compare_run,
        create_run,
        get_published_run,
        load_published_runs,
    )
    from .model.links import TERMS, LinkParameters
    from .model.prediction_interval import Interval
    from .model.tuner import Communicator, Graph, TunerChoice, TunerCost, choose_algorithm, compute_cost_table
    from .nccl_prediction import Prediction, predict
    from .predicted_schedule import predict_and_simulate
    from .release_differences import ReleaseComparison, compare_releases
    from .search.nvls_heads import NvlsHeads
    from .search.ring_tree_search import Rings, Trees
    from .tuner_graphs import build_communicator

__all__ = [
    "TERMS",
    "Accuracy",
    "BackendAdvice",
    "Calibration",
    "Communicator",
    "Crossover",
    "Difference",
    "Facts",
    "Gap",
    "Graph",
    "GraphSearch",
    "Interval",
    "LinkParameters",
    "MeasuredRun",
    "NvlsHeads",
    "Prediction",
    "ReleaseComparison",
    "Rings",
    "Trees",
    "TunerChoice",
    "TunerCost",
    "build_communicator",
    "choose_algorithm",
    "compare_published_runs",
    "compare_releases",
    "compare_ring_and_tree",
    "compare_run",
    "compute_cost_table",
    "create_run",
    "evaluate_accuracy",
    "evaluate_measurement_value",
    "explain_difference",
    "explain_gap",
    "fit_calibration",
    "get_published_run",
    "get_support",
    "load_published_runs",
    "mpi",
    "parse_facts",
    "predict",
    "predict_and_simulate",
    "predict_choices",
    "predict_gloo_interval",
    "predict_gloo_time",
    "predict_with_simulation",
    "read_facts",
    "recommend_backend",
    "search_graphs",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "algorithm_choices": ("Crossover", "compare_ring_and_tree", "predict_choices"),
            "difference": ("Difference", "explain_difference", "predict_with_simulation"),
            "libraries.backends": ("BackendAdvice", "get_support", "recommend_backend"),
            "libraries.gloo": ("predict_gloo_interval", "predict_gloo_time"),
            "libraries.mpi": ("mpi",),
            "link_calibration": ("Calibration", "fit_calibration"),
            "machine.machine_facts": ("Facts",),
            "machine.machine_words": ("parse_facts",),
            "machine.topology_facts": ("GraphSearch", "read_facts", "search_graphs"),
            "measured.gaps": ("Gap", "explain_gap"),
            "measured.measurement_value": ("evaluate_measurement_value",),
            "measured.prediction_accuracy": ("Accuracy", "evaluate_accuracy"),
            "measured.published_runs": (
                "MeasuredRun",
                "compare_published_runs",
                "compare_run",
                "create_run",
                "get_published_run",
                "load_published_runs",
            ),
            "model.links": ("TERMS", "LinkParameters"),
            "model.prediction_interval": ("Interval",),
            "model.tuner": (
                "Communicator",
                "Graph",
                "TunerChoice",
                "TunerCost",
                "choose_algorithm",
                "compute_cost_table",
            ),
            "nccl_prediction": ("Prediction", "predict"),
            "predicted_schedule": ("predict_and_simulate",),
            "release_differences": ("ReleaseComparison", "compare_releases"),
            "search.nvls_heads": ("NvlsHeads",),
            "search.ring_tree_search": ("Rings", "Trees"),
            "tuner_graphs": ("build_communicator",),
        },
    )
