"""What other tools and libraries call the things that collsim has a word for: the answer to a guess."""

from __future__ import annotations

#: A word of NCCL, MPI, PyTorch or numpy -> what it may mean here, the likeliest first.
SYNONYMS: dict[str, tuple[str, ...]] = {
    # ranks and nodes
    **dict.fromkeys(("n", "world_size", "num_ranks", "nranks", "n_ranks", "num_processes"), ("ranks", "gpus")),
    **dict.fromkeys(("num_nodes", "nnodes", "n_nodes", "num_machines", "hosts"), ("nodes",)),
    **dict.fromkeys(("machine", "machines"), ("topology", "nodes")),
    "gpus": ("ranks",),
    **dict.fromkeys(("num_gpus", "ngpus", "n_gpus", "gpus_per_node", "nproc_per_node"), ("gpus", "ranks")),
    **dict.fromkeys(("num_nics", "nnics", "num_hcas"), ("nics",)),
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
}


def find_synonyms(word: str, known: list[str]) -> list[str]:
    """The names among `known` that `word` stands for in other tools, the likeliest first."""
    return [name for name in SYNONYMS.get(word.lower().replace("-", "_"), ()) if name in known]
