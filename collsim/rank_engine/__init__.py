"""Rank programs in one process: N simulated ranks run a program, without a network and without a clock.

- `rewrite`: functions of a program become generators, so that a rank can be suspended in the middle of a call.
- `engine`: ranks take turns; messages, collectives and groups are matched.
- `calls`: what the rewritten code calls.
- `tensors`, `torch_dialect`, `mpi_dialect`, `process_dialect`: the libraries that programs import.
- `execute`: one execution in one mode; `modes`: the modes; `expected`: results of collectives;
  `provenance`: which numbers each message holds.
- `start`: the entry of a program and its arguments; `record`: executions as JSON.
"""
