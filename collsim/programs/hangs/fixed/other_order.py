import torch
import torch.distributed as dist


def train(rank, size):
    gradient, statistics = torch.full((1000,), float(rank)), torch.full((8,), float(rank))
    tasks = {"gradient", "statistics"}
    for task in sorted(tasks):
        if task == "gradient":
            dist.all_reduce(gradient)
        else:
            dist.broadcast(statistics, src=0)
    return gradient[0].item(), statistics[0].item()
