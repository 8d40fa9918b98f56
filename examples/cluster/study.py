"""One study for one computer, a Dask cluster or MPI: the same rows whoever works them out.

python study.py                                       processes of this computer
python study.py --dask tcp://scheduler:8786           a Dask cluster
mpiexec -n 8 python -m mpi4py.futures study.py --mpi  MPI
"""

import argparse

import collsim as cs

PLAN = {
    "algorithm": ["allreduce_ring", "allreduce_double_binary_tree"],
    "topology": [{"machine": "dgx-a100", "nodes": [1, 2]}],
    "nbytes": cs.size_range("1MiB:64MiB:8"),
}


def main():
    words = argparse.ArgumentParser(description="A study of 12 scenarios; the same call goes on where it was.")
    words.add_argument("--dask", help="address of a Dask scheduler")
    words.add_argument("--mpi", action="store_true", help="under mpiexec, with -m mpi4py.futures")
    words.add_argument("--out", default="study.sqlite", help="file of the results (%(default)s), or .parquet")
    given = words.parse_args()
    if given.dask:
        from distributed import Client

        frame = cs.sweep(**PLAN, executor=Client(given.dask).get_executor(), out=given.out)
    elif given.mpi:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            frame = cs.sweep(**PLAN, executor=executor, out=given.out)
    else:
        frame = cs.sweep(**PLAN, out=given.out)
    print(len(frame), "scenarios,", frame.error.notna().sum(), "failed; written to", given.out)


if __name__ == "__main__":
    main()
