"""MSCCL: algorithms that NCCL's relatives on NVIDIA and AMD GPUs run from XML files.

`msccl_program` is the grammar, `interpreter` runs a program on symbols, `lowering` makes a Schedule of one, `compile`
makes one of a Schedule, `msccl_files` reads and writes files.
"""
