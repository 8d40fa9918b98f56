"""What other tools and libraries call the things that collsim has a word for: the answer to a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A word of NCCL, MPI, PyTorch or numpy -> what it may mean here, the likeliest first.
SYNONYMS: dict[str, tuple[str, ...]] = {
    # ranks and nodes
    **dict.fromkeys(("n", "world_size", "num_ranks", "nranks", "n_ranks", "num_processes"), ("ranks", "gpus")),
    **dict.fromkeys(("num_nodes", "nnodes", "n_nodes", "num_machines", "hosts"), ("nodes",)),
    **dict.fromkeys(("machine", "machines"), ("topology", "nodes")),
    "gpus": ("ranks",),
    **dict.fromkeys(("num_gpus", "ngpus", "n_gpus", "gpus_per_node", "nproc_per_node"), ("gpus", "ranks")),
    **dict.fromkeys(("num_nics", "nnics", "num_hcas"), ("nics",)),
    **dict.fromkeys(("network", "net", "hca", "network_card", "interconnect"), ("nic", "fabric")),
    # figures
    **dict.fromkeys(("latency", "delay", "lat"), ("alpha",)),
    **dict.fromkeys(("bw", "capacity", "rate", "speed", "beta"), ("bandwidth",)),
    **dict.fromkeys(("size", "sizes", "message_size", "msg_size", "nbyte", "num_bytes", "bytes", "count"), ("nbytes",)),
    **dict.fromkeys(("nchannels", "num_channels"), ("channels",)),
    **dict.fromkeys(("nchunks", "num_chunks"), ("chunks",)),
    **dict.fromkeys(("topologies", "cluster", "topo"), ("topology",)),
    "topology": ("machine",),
    **dict.fromkeys(("algo", "algos", "algorithms"), ("algorithm",)),
    **dict.fromkeys(("datatype", "dtypes"), ("dtype",)),
    **dict.fromkeys(("engines", "backend", "simulator"), ("engine",)),
    **dict.fromkeys(("operation",), ("collective", "collective_name")),
    "collective": ("collective_name", "kind"),
    "rank_order": ("order",),
    # steps of training
    **dict.fromkeys(("bucket_size", "bucket_cap", "bucket_bytes"), ("bucket",)),
    **dict.fromkeys(("global_batch", "global_batch_size", "batch_size"), ("batch",)),
    **dict.fromkeys(("micro_batch_size", "per_device_batch_size"), ("micro_batch",)),
    # types of elements
    **dict.fromkeys(("fp16", "half"), ("float16",)),
    **dict.fromkeys(("fp32", "single"), ("float32",)),
    **dict.fromkeys(("fp64", "double"), ("float64",)),
    "float": ("float32", "float64"),
    **dict.fromkeys(("bf16", "bfloat"), ("bfloat16",)),
    **dict.fromkeys(("fp8", "float8"), ("float8_e4m3", "float8_e5m2")),
    **dict.fromkeys(("float8e4m3", "float8_e4m3fn"), ("float8_e4m3",)),
    "float8e5m2": ("float8_e5m2",),
    **dict.fromkeys(("int", "integer"), ("int32", "int64")),
    "long": ("int64",),
    "char": ("int8",),
    **dict.fromkeys(("byte", "uchar"), ("uint8",)),
    # collectives
    **dict.fromkeys(("send", "recv", "isend", "irecv", "sendrecv_replace", "p2p"), ("sendrecv",)),
    # machines
    **dict.fromkeys(("dcu", "hygon"), ("mi300x-8gpu",)),
    **dict.fromkeys(("nvlink", "nvswitch"), ("dgx-a100", "dgx-h100")),
    **dict.fromkeys(("infiniband", "ib"), ("cluster", "dgx-a100")),
    # network cards, by NVIDIA's names (the rate of the fastest model of each) and by rate
    **dict.fromkeys(("connectx_4", "connectx4", "cx4", "connectx_5", "connectx5", "cx5"), ("ib-edr", "roce-100")),
    **dict.fromkeys(("connectx_6", "connectx6", "cx6", "bluefield_2", "bluefield2"), ("ib-hdr", "roce-200")),
    **dict.fromkeys(("connectx_7", "connectx7", "cx7", "bluefield_3", "bluefield3"), ("ib-ndr", "roce-400")),
    **dict.fromkeys(("connectx_8", "connectx8", "cx8"), ("ib-xdr", "roce-800")),
    **dict.fromkeys(("100g", "100gbe"), ("ib-edr", "roce-100", "tcp-100")),
    **dict.fromkeys(("200g", "200gbe"), ("ib-hdr", "roce-200", "tcp-200")),
    **dict.fromkeys(("400g", "400gbe"), ("ib-ndr", "roce-400", "tcp-400")),
    **dict.fromkeys(("800g", "800gbe"), ("ib-xdr", "roce-800")),
    **dict.fromkeys(("ethernet", "10gbe", "25gbe", "socket_server"), ("cluster", "pcie-8gpu")),
}

#: What other libraries put around a name: `ncclFloat16`, `MPI_Allreduce`, `torch.distributed.all_gather_into_tensor`.
_AFFIXES = re.compile(
    r"^(torch\.distributed\.|torch\.|dist\.|np\.|numpy\.|mpi[._]|nccl)+"
    r"|(_into_tensor|_tensor|_single|_object|_coalesced)+$"
)

#: One word of an algorithm or a collective in other spellings and languages, the longer ones first.
_SPELLINGS = {
    "all_reduce": "allreduce",
    "reducescatter": "reduce_scatter",
    "scatter_reduce": "reduce_scatter",
    "scatterreduce": "reduce_scatter",
    "all_gather": "allgather",
    "all_to_all": "alltoall",
    "all2all": "alltoall",
    "bcast": "broadcast",
    "全归约": "allreduce",
    "全规约": "allreduce",
    "全收集": "allgather",
    "全交换": "alltoall",
    "归约散发": "reduce_scatter",
    "归约": "reduce",
    "规约": "reduce",
    "广播": "broadcast",
    "收集": "gather",
    "散发": "scatter",
    "参数服务器": "parameter_server",
    "双二叉树": "double_binary_tree",
    "环形": "ring",
    "环": "ring",
    "树": "tree",
}

#: What an article may write for a whole word between two underscores; `BS` is a misprint of PS in a widely copied one.
_ABBREVIATIONS = {
    "ps": "parameter_server",
    "bs": "parameter_server",
    "dbt": "double_binary_tree",
    "rs": "reduce_scatter",
}

_MOST_SUGGESTED = 4


def find_synonyms(word: str, known: Iterable[str]) -> list[str]:
    """Find the names that a word of another tool, library or language stands for.

    Args:
        word: What somebody wrote: `"world_size"`, `"ncclFloat16"`, `"Ring-Allreduce"`, `"参数服务器"`.
        known: The names that there are.

    Returns:
        Those of `known` that are meant, the likeliest first; none where the word says nothing.

    Examples:
        >>> find_synonyms("Ring-AllReduce", ["allgather_ring", "allreduce_ring", "allreduce_tree"])
        ['allreduce_ring']
        >>> find_synonyms("ncclFloat16", ["float16", "bfloat16"])
        ['float16']
    """
    names, plain = list(known), simplify_word(word)
    meant = [name for name in SYNONYMS.get(plain, ()) if name in names]
    if meant:
        return meant
    if plain in names and plain != word:
        return [plain]
    if "_" not in (spelled := _spell(plain)) and spelled == plain:
        return []  # one plain word: the nearest spelling says more than every name that holds it
    parts = set(spelled.split("_"))
    near = [name for name in names if parts <= set(name.split("_"))]
    return sorted(near, key=rank_name)[:_MOST_SUGGESTED]


def rank_name(name: str) -> tuple[bool, bool, int, str]:
    """Make a key to sort by: articles that name no collective mean allreduce, those that name no algorithm the ring.

    Args:
        name: A name that there is.

    Returns:
        The key; likely names sort first.
    """
    return not name.startswith("allreduce"), not name.endswith("_ring"), name.count("_"), name


def simplify_word(word: str) -> str:
    """Write a word in small letters, without the marks that a library puts around it.

    Args:
        word: What somebody wrote: `"ncclFloat16"`, `"dist.reduce_grad"`.

    Returns:
        `"float16"`, `"reduce_grad"`.
    """
    return _AFFIXES.sub("", re.sub(r"[\s-]+", "_", word.strip().lower()))


def _spell(plain: str) -> str:
    """The word with collsim's spelling of each of its parts, those in another order or language too."""
    for other, ours in _SPELLINGS.items():
        plain = plain.replace(other, f"_{ours}_")
    parts = [_ABBREVIATIONS.get(part, part) for part in plain.split("_") if part]
    return "_".join(parts)
