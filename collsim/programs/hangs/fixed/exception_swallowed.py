import torch
import torch.distributed as dist


def read_batch(rank, step):
    if rank == 1 and step == 1:
        raise ValueError("image 4711 is truncated")
    return torch.full((1000,), float(rank + step))


def run(rank, size):
    weights = torch.zeros(1000)
    for step in range(3):
        try:
            gradient = read_batch(rank, step)
        except ValueError:
            print("a bad batch counts as zero")
            gradient = torch.zeros(1000)
        dist.all_reduce(gradient)
        weights -= 0.1 * gradient / size
    return weights[0].item()
