"""Computations that take longer than a glance, in processes of their own.

A process and not a thread, because a process can be stopped wherever it is, leaves no memory behind, and lets a class
of thirty go on clicking while it computes. `worker_pool` starts computations and the processes that do them
(`worker_process` here, `worker` there), `result_cache` stores results, `engine` compiles the event engine at the start.
"""
