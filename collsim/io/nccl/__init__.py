"""Files of NCCL and its tests: its log, its graph files, the tables of nccl-tests."""
