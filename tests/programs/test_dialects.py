"""The words of mpi4py and torch.distributed: results of real runs (MPICH 5.0.2 under mpi4py 4.1.2, gloo of torch 2.13.0,
4 processes each)."""

import pytest

TORCH = "import torch\nimport torch.distributed as dist\nrank, size = dist.get_rank(), dist.get_world_size()\n"
MPI = "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"

#: Programs of MPI, and what the ranks had.
MPI_RUNS = {
    "scan, exscan": (
        "result = [comm.scan(rank + 1), comm.exscan(rank + 1)]\n",
        [[1, None], [3, 1], [6, 3], [10, 6]],
    ),
    "Waitany": (
        "result = None\nif rank == 0:\n    parts = [np.zeros(1, 'i') for _ in range(size - 1)]\n"
        "    requests = [comm.Irecv(part, source=k + 1) for k, part in enumerate(parts)]\n"
        "    taken = [MPI.Request.Waitany(requests) for _ in parts]\n"
        "    result = [sorted(taken), sum(int(part[0]) for part in parts), MPI.Request.Waitany(requests)]\n"
        "    result += [requests[0].wait()]\n"
        "else:\n    comm.Send(np.array([rank * rank], 'i'), dest=0)\n",
        [[[0, 1, 2], 14, -32766, None], None, None, None],
    ),
    "Waitsome": (
        "result = None\nif rank == 0:\n    requests = [comm.irecv(source=k + 1) for k in range(size - 1)]\n    got = []\n"
        "    while len(got) < size - 1:\n        got += zip(*MPI.Request.waitsome(requests))\n"
        "    result = [sorted(map(list, got)), MPI.Request.Waitsome(requests), list(MPI.Request.waitsome(requests))]\n"
        "    result += [list(MPI.Request.testany(requests))]\n"
        "else:\n    comm.send(rank * 10, dest=0)\n",
        [[[[0, 10], [1, 20], [2, 30]], None, [None, None], [-32766, True, None]], None, None, None],
    ),
    "Gatherv": (
        "counts = [i + 1 for i in range(size)]\nrecv = np.zeros(sum(counts), dtype='i') if rank == 0 else None\n"
        "comm.Gatherv(np.full(rank + 1, rank, dtype='i'), [recv, counts], root=0)\n"
        "result = recv.tolist() if rank == 0 else None\n",
        [[0, 1, 1, 2, 2, 2, 3, 3, 3, 3], None, None, None],
    ),
    "Scatterv": (
        "counts = [i + 1 for i in range(size)]\ndispls = [sum(counts[:i]) for i in range(size)]\n"
        "send = np.arange(sum(counts), dtype='d') if rank == 0 else None\nrecv = np.zeros(counts[rank])\n"
        "comm.Scatterv([send, counts, displs, MPI.DOUBLE], recv, root=0)\nresult = recv.tolist()\n",
        [[0.0], [1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0]],
    ),
    "Allgatherv": (
        "counts = [i + 1 for i in range(size)]\nr = np.zeros(sum(counts))\n"
        "comm.Allgatherv(np.full(rank + 1, rank, dtype='d'), [r, counts])\nresult = r.tolist()\n",
        [[0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]] * 4,
    ),
    "Alltoallv": (
        "ones = [1] * size\nr = np.zeros(size, dtype='i')\n"
        "comm.Alltoallv([np.arange(size, dtype='i') + 10 * rank, ones], [r, ones])\nresult = r.tolist()\n",
        [[0, 10, 20, 30], [1, 11, 21, 31], [2, 12, 22, 32], [3, 13, 23, 33]],
    ),
    "Reduce_scatter": (
        "a, b, c = np.arange(size * 2, dtype='d') + rank, np.zeros(2), np.zeros(2)\n"
        "comm.Reduce_scatter_block(a, b)\ncomm.Reduce_scatter(a, c, recvcounts=[2] * size)\n"
        "result = b.tolist() + c.tolist()\n",
        [[6.0, 10.0] * 2, [14.0, 18.0] * 2, [22.0, 26.0] * 2, [30.0, 34.0] * 2],
    ),
    "Iallreduce": (
        "b = np.zeros(2)\nrequest = comm.Iallreduce(np.ones(2) * rank, b)\nrequest.Wait()\nresult = b.tolist()\n",
        [[6.0, 6.0]] * 4,
    ),
    "IN_PLACE": (
        "a = np.full(3, rank + 1.0)\nif rank == 0:\n    comm.Reduce(MPI.IN_PLACE, a, op=MPI.SUM, root=0)\n"
        "else:\n    comm.Reduce(a, None, op=MPI.SUM, root=0)\nresult = a.tolist()\n",
        [[10.0] * 3, [2.0] * 3, [3.0] * 3, [4.0] * 3],
    ),
    "grid": (
        "cart = comm.Create_cart(MPI.Compute_dims(size, 2), periods=[False, True], reorder=False)\n"
        "result = [cart.Get_coords(cart.rank), *cart.Shift(0, 1), cart.Get_topo()[0]]\n",
        [[[0, 0], -1, 2, [2, 2]], [[0, 1], -1, 3, [2, 2]], [[1, 0], 0, -1, [2, 2]], [[1, 1], 1, -1, [2, 2]]],
    ),
    "ring of a grid": (
        "cart = comm.Create_cart([size], periods=[True])\nleft, right = cart.Shift(0, 1)\nout = np.zeros(1)\n"
        "cart.Sendrecv(np.array([float(rank)]), dest=right, recvbuf=out, source=left)\nresult = out.tolist()\n",
        [[3.0], [0.0], [1.0], [2.0]],
    ),
    "undefined color": (
        "sub = comm.Split(0 if rank < 2 else MPI.UNDEFINED, rank)\n"
        "result = sub.allreduce(1) if sub != MPI.COMM_NULL else None\n",
        [2, 2, None, None],
    ),
    "group": (
        "sub = comm.Create(comm.Get_group().Incl([0, 1]))\nresult = sub.allreduce(rank) if rank < 2 else None\n",
        [1, 1, None, None],
    ),
    "groups": (
        "g = comm.Get_group()\na, b = g.Incl([0, 1]), g.Incl([2, 1])\nnode = comm.Split_type(MPI.COMM_TYPE_SHARED, -rank)\n"
        "parts = [MPI.Group.Union(a, b), MPI.Group.Intersection(a, b), MPI.Group.Difference(a, b)]\n"
        "result = [[part.Get_size(), part.Get_rank()] for part in parts]\n"
        "result += [parts[0].Translate_ranks(None, g), a.Translate_ranks([1, 0], b), [node.size, node.rank]]\n",
        [
            [[3, 0], [1, -32766], [1, 0], [0, 1, 2], [1, -32766], [4, 3]],
            [[3, 1], [1, 0], [1, -32766], [0, 1, 2], [1, -32766], [4, 2]],
            [[3, 2], [1, -32766], [1, -32766], [0, 1, 2], [1, -32766], [4, 1]],
            [[3, -32766], [1, -32766], [1, -32766], [0, 1, 2], [1, -32766], [4, 0]],
        ],
    ),
    "minloc": ("result = list(comm.allreduce((float(rank * 3 % size), rank), op=MPI.MINLOC))\n", [[0.0, 0]] * 4),
    "persistent": (
        "out = np.zeros(1)\ns = comm.Send_init(np.array([float(rank)]), dest=(rank + 1) % size)\n"
        "r = comm.Recv_init(out, source=(rank - 1) % size)\nMPI.Prequest.Startall([r, s])\n"
        "MPI.Request.Waitall([r, s])\nresult = out.tolist()\n",
        [[3.0], [0.0], [1.0], [2.0]],
    ),
    "testall": (
        "requests = [comm.irecv(source=s) for s in range(size) if s != rank]\nfor d in range(size):\n"
        "    if d != rank:\n        comm.send(rank, dest=d)\ndone = False\nwhile not done:\n"
        "    done, messages = MPI.Request.testall(requests)\nresult = sorted(messages)\n",
        [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]],
    ),
}


@pytest.mark.parametrize("name", MPI_RUNS)
def test_a_word_of_mpi_gives_what_mpich_gave(name, run_program):
    source, results = MPI_RUNS[name]
    run = run_program(MPI + source, 4, expect=lambda rank: results[rank])
    assert run.verdict == "right", run
    assert list(run.results) == results


def test_a_status_has_the_number_in_the_communicator(run_program):
    """Values of MPICH: the communicator has the ranks in reverse order."""
    source = MPI + (
        "sub = comm.Split(0, -rank)\nst, x, q = MPI.Status(), np.zeros(1), np.zeros(1)\nresult = []\n"
        "if rank == 0:\n    sub.probe(status=st)\n    result.append(st.Get_source())\n"
        "    sub.recv(source=st.Get_source(), status=st)\n    result.append(st.Get_source())\n"
        "    sub.Irecv(x).Wait(st)\n    result.append(st.Get_source())\n"
        "    r = sub.Recv_init(q)\n    r.Start()\n    r.Wait(st)\n    result.append(st.Get_source())\n"
        "if rank == 3:\n    sub.send('a', 3)\n    sub.Send(x, 3)\n    sub.Send(x, 3)\n"
    )
    assert run_program(source, 4).results[0] == [0, 0, 0, 0]


def test_parts_lie_where_mpich_puts_them_and_as_its_bytes(run_program):
    """Values of MPICH: a part is as long as the receive buffer has room, and integers are not made floats."""
    source = MPI + "got = np.zeros(6)\ncomm.Allgather(np.ones(2) + rank, got)\nresult = got.tolist()\n"
    assert run_program(source, 2).results[0] == [1.0, 1.0, 0.0, 2.0, 2.0, 0.0]
    source = (
        MPI + "got = np.zeros(2)\ncomm.Allgather(np.array([rank + 1]), got)\nresult = got.view(np.int64).tolist()\n"
    )
    assert run_program(source, 2).results[0] == [1, 2]


#: Programs that end in an error there: the rank, the line, and a word of ours.
ERRORS = {
    "Allreduce of other sizes": (
        MPI + "a = np.ones(8 if rank == 0 else 4)\ncomm.Allreduce(a, np.zeros_like(a))\n",
        (1, 6, "32 bytes"),
    ),
    "scatter of too many": (MPI + "comm.scatter(list(range(size + 1)) if rank == 0 else None)\n", (0, 5, "5")),
    "Abort": (MPI + "if rank == 1:\n    comm.Abort(3)\ncomm.Barrier()\n", (1, 6, "MPI_Abort")),
    "all_reduce of other sizes": (
        TORCH + "dist.all_reduce(torch.ones(8 if rank == 0 else 2))\n",
        (1, 4, "does not match"),
    ),
    "all_reduce of other types": (
        TORCH + "dist.all_reduce(torch.ones(4, dtype=torch.float64 if rank == 1 else torch.float32))\n",
        (0, 4, "float64"),
    ),
    "a part of gloo's output in a dimension of its own": (
        TORCH + "dist.all_gather_into_tensor(torch.zeros(4, 2), torch.zeros(2))\n",
        (0, 4, "(4, 2)"),
    ),
    "all_gather of other types": (
        TORCH + "dist.all_gather([torch.zeros(2)] * 4, torch.zeros(2, dtype=torch.int32))\n",
        (0, 4, "int32, float32"),
    ),
    "a type that gloo has not": (TORCH + "dist.all_reduce(torch.zeros(2, dtype=torch.int16))\n", (0, 4, "int16")),
    "bits of floats": (TORCH + "dist.all_reduce(torch.ones(2), dist.ReduceOp.BOR)\n", (0, 4, "non-integral")),
    "the mean of integers": (TORCH + "dist.all_reduce(torch.arange(2), dist.ReduceOp.AVG)\n", (0, 4, "Float")),
    "a column that is sent": (TORCH + "dist.isend(torch.ones(3, 2)[:, 0], 1 - rank % 2)\n", (0, 4, "contiguous")),
    "a send out of a group": (
        TORCH + "g = dist.new_group([0, 1])\nif rank == 0:\n    dist.send(torch.ones(1), 2, group=g)\n",
        (0, 6, "not part of the group"),
    ),
    "parts that are not all": (
        TORCH + "dist.all_to_all_single(torch.zeros(8), torch.zeros(8), [2, 2, 2, 1], [2, 2, 2, 2])\n",
        (0, 4, "8 rows"),
    ),
    "after the end": (TORCH + "dist.destroy_process_group()\ndist.barrier()\n", (0, 5, "init_process_group")),
    "buffers of other types": (
        MPI + "comm.Allreduce(np.ones(2), np.ones(2, np.float32))\n",
        (0, 5, "float64 and float32"),
    ),
    "the largest of arrays as objects": (MPI + "comm.allreduce(np.ones(2), op=MPI.MAX)\n", (0, 5, "ambiguous")),
    "scatter of other sizes": (
        TORCH + "dist.scatter(torch.zeros(2), [torch.zeros(3)] * size if rank == 0 else None)\n",
        (0, 4, "(3,)"),
    ),
    "scatter of too few": (
        TORCH + "dist.scatter(torch.zeros(2), [torch.zeros(2)] * 3 if rank == 0 else None)\n",
        (0, 4, "3 tensors"),
    ),
    "gather without a list": (TORCH + "dist.gather(torch.zeros(2), dst=0)\n", (0, 4, "gather_list")),
    "all_gather into too few": (TORCH + "dist.all_gather([torch.zeros(2)] * 3, torch.zeros(2))\n", (0, 4, "3")),
    "root outside of a group": (
        TORCH + "g = dist.new_group([1, 3])\nif rank in (1, 3):\n    dist.broadcast(torch.zeros(1), 0, group=g)\n",
        (1, 6, "not part of the group"),
    ),
    "scatter with a list on all": (
        TORCH + "dist.scatter(torch.zeros(2), [torch.zeros(2)] * size)\n",
        (1, 4, "for rank 0 alone"),
    ),
    "gather with a list on all": (
        TORCH + "dist.gather(torch.zeros(2), [torch.zeros(2)] * size)\n",
        (1, 4, "for rank 0 alone"),
    ),
    "isend to oneself": (TORCH + "dist.isend(torch.zeros(1), rank)\n", (0, 4, "itself")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_ends_in_an_error_there_ends_in_one_here(name, run_program):
    source, (rank, line, word) = ERRORS[name]
    run = run_program(source, 4)
    assert run.verdict == "error"
    assert (run.errors[0].rank, run.errors[0].line) == (rank, line)
    assert word in run.errors[0].text


def test_a_broadcast_may_be_longer_at_its_receivers_as_with_gloo(run_program):
    source = (
        TORCH + "x = torch.full((4 if rank == 0 else 6,), float(rank))\ndist.broadcast(x, 0)\nresult = x.tolist()\n"
    )
    run = run_program(source, 3, expect=lambda rank: [0.0] * 4 + [float(rank)] * 2 * (rank > 0))
    assert run.verdict == "right", run


def test_ranks_that_wait_for_a_failed_one_are_told(run_program):
    source = MPI + "if rank == 1:\n    x = 1 / 0\ncomm.Barrier()\n"
    text = run_program(source, 4).explanation()
    assert "line 6" in text
    assert "rank 0, 2, 3 in Barrier (line 7)" in text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (TORCH + "dist.allreduce(torch.ones(2))\n", "'all_reduce'"),
        (TORCH + "torch.ones(2).addd_(1)\n", "'add_'"),
        (MPI + "comm.allredduce(1)\n", "'allreduce'"),
        (MPI + "comm.Mprobe()\n", "use Probe and Recv"),
        (TORCH + "dist.send(torch.ones(1), -1)\n", "no rank from 0 to 1"),
        (TORCH + "dist.send(torch.ones(1), 1.5)\n", "1.5"),
        (TORCH + "dist.send(torch.ones(1), 1 - rank, tag=10**30)\n", "tag="),
        (MPI + "comm.send(1, dest=1 - rank, tag=10**30)\n", "tag="),
        (MPI + "comm.send(1, dest=-5)\n", "-5"),
        (MPI + "comm.recv(source='a')\n", "'a'"),
        (MPI + "comm.bcast(1, root=9)\n", "root=9"),
        (MPI + "comm.allreduce(1, op='FOO')\n", "'FOO'"),
        (TORCH + "dist.all_reduce(torch.ones(2), op='FOO')\n", "'FOO'"),
        (TORCH + "dist.all_reduce([1, 2])\n", "wants a tensor"),
        (TORCH + "dist.new_group([0, 7])\n", "rank=7"),
        ("import time\ntime.sleep(float('nan'))\n", "sleep(nan)"),
        ("import time\ntime.sleep(-1)\n", "sleep(-1)"),
    ],
)
def test_odd_arguments_are_named_with_their_line(source, words, run_program):
    run = run_program(source, 2)
    assert run.verdict == "error"
    assert run.errors[0].line == source.count("\n")
    assert words in run.explanation()


#: Programs of collectives that do what they claim, and one word whose change makes them wrong.
CLAIMS = {
    "allgather": (
        "    recv[rank * len(send):(rank + 1) * len(send)] = send\n"
        "    for step in range(size - 1):\n"
        "        give, take = (rank - step) % size, (rank - step - 1) % size\n"
        "        parts = recv.chunk(size)\n"
        "        work = dist.isend(parts[give], (rank + 1) % size)\n"
        "        dist.recv(parts[take], (rank - 1) % size)\n"
        "        work.wait()\n",
        ("size - 1)", "size - 2)"),
    ),
    "reduce_scatter": (
        "    parts = list(send.clone().chunk(size))\n"
        "    for step in range(size - 1):\n"
        "        give, take = (rank - step - 1) % size, (rank - step - 2) % size\n"
        "        fresh = torch.empty_like(parts[take])\n"
        "        work = dist.isend(parts[give], (rank + 1) % size)\n"
        "        dist.recv(fresh, (rank - 1) % size)\n"
        "        work.wait()\n"
        "        parts[take] += fresh\n"
        "    recv.copy_(parts[rank])\n",
        ("parts[rank])", "parts[rank - 1])"),
    ),
    "alltoall": ("    dist.all_to_all_single(recv, send)\n", ("recv, send", "recv, send * 2")),
    "gather": (
        "    into = list(recv.chunk(size)) if rank == 0 else None\n    dist.gather(send, into, dst=0)\n",
        ("gather(send,", "gather(send + 1,"),
    ),
    "scatter": (
        "    parts = list(send.chunk(size)) if rank == 0 else None\n    dist.scatter(recv, parts, src=0)\n",
        ("recv, parts,", "recv, parts[::-1] if parts else None,"),
    ),
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_program_is_held_to_the_collective_that_it_claims(name, ranks, run_program):
    body, (word, wrong) = CLAIMS[name]
    head = f"import torch\nimport torch.distributed as dist\ndef {name}(send, recv):\n"
    head += "    rank, size = dist.get_rank(), dist.get_world_size()\n"
    assert run_program(head + body, ranks, name, nbytes="100B").verdict == "right"
    assert run_program(head + body.replace(word, wrong), ranks, name, nbytes="100B").verdict == "wrong"


def test_objects_are_scattered_and_broadcast_whole_and_as_they_were(run_program):
    source = TORCH + (
        "rank, size = dist.get_rank(), dist.get_world_size()\n"
        "parts, words = [0], ['abc', None, [1, 2]] if rank == 0 else [0, 0, 0]\n"
        "dist.scatter_object_list(parts, ['abc', None, [1, 2]] if rank == 0 else None, src=0)\n"
        "dist.broadcast_object_list(words, src=0)\n"
        "words[0:1], got = (['x'], words[0])\n"
        "result = [parts, words, got]\n"
    )
    run = run_program(source, 3)
    assert [list(result) for result in run.results] == [
        [[part], ["x", None, [1, 2]], "abc"] for part in ("abc", None, [1, 2])
    ]


def test_a_column_is_what_gloo_takes_for_it(run_program):
    """Values of gloo: it reads and fills as many elements as the column has, one after another."""
    source = TORCH + "x = torch.zeros(2, 2) + rank\ndist.broadcast(x[:, 0], src=1)\nresult = x.tolist()\n"
    run = run_program(source, 3)
    assert run.results == ([[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0]] * 2, [[1.0, 1.0], [2.0, 2.0]])
    assert run.verdict == "wrong"
    assert "rank 0 in broadcast (line 5)" in run.explanation()
    assert "t.contiguous()" in run.explanation()
    rows = run_program(source.replace("x[:, 0]", "x[0]"), 3)
    assert rows.verdict == "ends"
    assert rows.results[2] == [[1.0, 1.0], [2.0, 2.0]]


#: Programs that end there with wrong numbers, or not every time, and what ours calls it: a word of the reason.
SILENT = {
    "other roots": (MPI + "comm.Bcast(np.ones(2), root=rank % 2)\n", "float64 root 1 on rank 1"),
    "other reductions": (
        TORCH + "dist.all_reduce(torch.ones(2), dist.ReduceOp.SUM if rank else dist.ReduceOp.MAX)\n",
        "MAX float32 on rank 0",
    ),
    "other reductions of MPI": (MPI + "comm.allreduce(rank, op=MPI.MAX if rank else MPI.SUM)\n", "SUM on rank 0"),
    "types of one size": (
        TORCH + "dist.all_reduce(torch.ones(2, dtype=torch.float32 if rank else torch.int32))\n",
        "SUM int32 on rank 0",
    ),
    "a handle that nobody keeps": (
        TORCH
        + "x = torch.zeros(1)\nif rank == 1:\n    dist.isend(x, 0)\nif rank == 0:\n    dist.recv(x, 1)\ndist.barrier()\n",
        "rank 1 in isend (line 6)",
    ),
    "a handle that is lost at the end": (
        "import torch\nimport torch.distributed as dist\ndef run(rank, size):\n    x = torch.zeros(1)\n"
        "    if rank == 0:\n        work = dist.isend(x, 1)\n    if rank == 1:\n        dist.recv(x, 0)\n",
        "rank 0 in isend (line 6)",
    ),
    "a process that ends before its message": (
        TORCH + "x = torch.zeros(1)\nif rank == 0:\n    work = dist.isend(x, 1)\nif rank == 1:\n    dist.recv(x, 0)\n",
        "rank 0 in isend (line 6)",
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_the_library_does_not_notice_is_wrong(name, run_program):
    source, word = SILENT[name]
    run = run_program(source, 2)
    assert run.verdict == "wrong"
    assert word in run.explanation()


def test_a_handle_that_is_kept_until_the_message_has_come_is_right(run_program):
    source = TORCH + (
        "def share():\n    x = torch.zeros(1)\n    if rank == 0:\n        work = dist.isend(x, 1)\n"
        "    if rank == 1:\n        dist.recv(x, 0)\n    dist.barrier()\nshare()\n"
    )
    assert run_program(source, 2).verdict == "ends"


def test_lists_of_objects_and_futures_are_those_of_gloo(run_program):
    """Values of gloo on two ranks."""
    source = TORCH + (
        "x = torch.ones(2) * (rank + 1)\nwork = dist.all_reduce(x, async_op=True)\nfuture = work.get_future()\n"
        "half = future.then(lambda done: done.value()[0] / size).wait()\n"
        "result = [half.tolist(), future.wait()[0].tolist(), work.result()[0].tolist(), work.is_success()]\n"
        "if rank == 0:\n    dist.send_object_list(['a', {'b': [1, 2]}, None], dst=1)\n"
        "else:\n    objects = [None] * 3\n    source = dist.recv_object_list(objects)\n    result += [source, *objects]\n"
    )
    run = run_program(source, 2)
    common = [[1.5, 1.5], [3.0, 3.0], [3.0, 3.0], True]
    assert list(run.results) == [common, [*common, 0, "a", {"b": [1, 2]}, None]]


def test_a_list_of_objects_that_nobody_receives_hangs(run_program):
    run = run_program(TORCH + "if rank == 0:\n    dist.send_object_list(['a'], dst=1)\n", 2)
    assert (run.verdict, run.waits[0].rank) == ("hangs", 0)


def test_each_rank_has_objects_of_its_own(run_program):
    """A rank that changes what it gave, or what it got, changes nothing on other ranks."""
    source = MPI + (
        "mine = [rank]\ngot = comm.allgather(mine)\nmine.append(7)\ncomm.Barrier()\ngot[0].append(rank)\n"
        "assert comm.bcast(mine) is not mine\n"
        "total = comm.allreduce(np.ones(2))\ntotal /= 2\ncomm.Barrier()\nresult = [got, total.tolist()]\n"
    )
    assert run_program(source, 2).results == ([[[0, 0], [1]], [1.0, 1.0]], [[[0, 1], [1]], [1.0, 1.0]])
    source = TORCH + (
        "mine, got = [rank], [None] * 3\ndist.all_gather_object(got, mine)\nmine.append(7)\ndist.barrier()\n"
        "got[0].append(rank)\ndist.barrier()\nresult = got\n"
    )
    assert run_program(source, 2).results == ([[0, 0], [1], None], [[0, 1], [1], None])


def test_an_element_of_a_tensor_is_a_view_that_can_be_sent(run_program):
    source = TORCH + (
        "x = torch.zeros(2) + rank\nif rank:\n    dist.send(x[0], 0)\nelse:\n    dist.recv(x[1], 1)\n"
        "rows = torch.zeros(2, 2)\ndist.all_gather(list(rows.unbind(0)), x)\nresult = rows.tolist()\n"
    )
    assert run_program(source, 2).results == ([[0.0, 1.0], [1.0, 1.0]],) * 2


def test_ranks_outside_a_group_return_at_once(run_program):
    source = TORCH + (
        "g = dist.new_group([1, 2])\nx = torch.ones(1) * rank\n"
        "got = dist.recv(x, group_src=0, group=g) if rank == 2 else dist.send(x, 2, group=g) if rank == 1 else dist.recv(x, 1, group=g)\n"
        "dist.broadcast(x, group_src=1, group=g)\nresult = [got, x.item(), g.size()]\n"
    )
    assert run_program(source, 3).results == ([-1, 0.0, -1], [None, 1.0, 2], [1, 1.0, 2])


def test_a_hang_of_one_order_says_that_another_ends(run_program):
    source = TORCH + (
        "x = torch.zeros(1)\nif rank == 0:\n    if dist.recv(x) == 1:\n        dist.recv(x, 1)\n    dist.recv(x)\n"
        "else:\n    dist.send(x, 0)\n"
    )
    run = run_program(source, 3)
    assert run.verdict == "hangs"
    assert run.explanation().endswith("It ends where another message comes first.")
