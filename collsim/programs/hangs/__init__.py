"""A catalogue of hangs: programs that hang, each with the signs of it, and the same program fixed.

- `catalogue.toml`: the texts; `hanging/` and `fixed/`: the programs.
- `catalogue`: reads both; `stacks`: where each rank waits, as a tool that dumps stacks prints it.
"""
