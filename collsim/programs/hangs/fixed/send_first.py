import torch.distributed as dist


def allreduce(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    part, got = send.clone(), send.clone()
    recv[:] = send
    for _ in range(size - 1):
        request = dist.isend(part, right)
        dist.recv(got, left)
        request.wait()
        recv += got
        part, got = got, part
