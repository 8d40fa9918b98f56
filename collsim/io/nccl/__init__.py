"""Files of NCCL and its tests: its log, its graph files, the tables of nccl-tests."""

from . import nccl_graphs, nccl_log, nccl_tests

__all__ = ["nccl_graphs", "nccl_log", "nccl_tests"]
