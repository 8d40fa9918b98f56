import torch
import torch.distributed as dist


def train(rank, size):
    pairs = [dist.new_group([first, (first + 1) % size]) for first in range(size)]
    total = torch.tensor([float(rank)])
    for number in sorted([rank, (rank - 1) % size]):
        dist.all_reduce(total, group=pairs[number])
    return total.item()
