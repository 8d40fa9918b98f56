import torch
import torch.distributed as dist


def train(rank, size):
    samples = list(range(10 * size + 1))
    batches = samples[rank::size]
    least = torch.tensor([len(batches)])
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    weights = torch.zeros(1000)
    for sample in batches[: least.item()]:
        gradient = torch.full((1000,), float(sample))
        dist.all_reduce(gradient)
        weights -= 0.1 * gradient / size
    return weights[0].item()
