"""The backend guide against PyTorch's documentation."""

import pytest

from collsim.errors import CollsimError
from collsim.nccl import facts, predict
from collsim.nccl.backends import backend, gloo_time

A100 = facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")


@pytest.mark.parametrize(
    ("situation", "wanted"),
    [
        ({"tensors": "cpu"}, "gloo"),  # rule of thumb: Gloo for distributed CPU training
        ({"tensors": "gpu"}, "nccl"),  # NCCL for distributed GPU training
        ({"tensors": "gpu", "hosts": 4, "rdma": False}, "nccl"),  # on Ethernet too
        ({"tensors": "gpu", "nvlink": False}, "nccl"),
        ({"tensors": "gpu", "gpus": 1}, "nccl"),
        ({"tensors": "gpu", "ranks_per_gpu": 2}, "gloo"),  # Duplicate GPU detected
        ({"tensors": "both"}, "cpu:gloo,cuda:nccl"),
    ],
)
def test_the_rule_of_thumb(situation, wanted):
    advice = backend(**situation)
    assert advice.backend == wanted
    assert advice.reasons


def test_a_single_gpu_has_no_rule_about_versions():
    assert "no rule depends on NCCL's version" in str(backend("gpu", gpus=1))


def test_gloo_is_far_slower_than_nccl_on_gpus():
    assert gloo_time("allreduce", A100, "64MiB") > 20 * predict("allreduce", A100, "64MiB").time


def test_gloo_reduce_scatter_is_an_allreduce():
    assert gloo_time("reduce_scatter", A100, "64MiB") == gloo_time("allreduce", A100, "64MiB")


def test_what_gloo_cannot_do_is_said():
    with pytest.raises(CollsimError, match="CUDA tensors"):
        gloo_time("sendrecv", A100, "1MiB")
    with pytest.raises(CollsimError, match="place of tensors"):
        backend("disk")
