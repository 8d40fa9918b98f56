"""What the ranks of a job called before it hung, whoever wrote it down: a Flight Recorder dump, NCCL RAS, a simulation.

- `records`: calls by rank; `recorded_run`: those of a simulated run.
- `flight_recorder`: the files that PyTorch writes, read and written; `ras`: what NCCL's RAS prints.
- `analysis`: which rank is behind, at which call, and who waits for whom; `report`: the answer and its sentences.
- `load`: files of several ranks, in any order; `timeouts`: what libraries print when a run hangs.
"""
