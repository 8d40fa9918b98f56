import torch
import torch.distributed as dist


def train(rank, size):
    weights = torch.zeros(1000)
    for step in range(3):
        gradient = torch.full((1000,), float(rank + step))
        loss = torch.tensor([1.0 / (step + 1)])
        dist.all_reduce(gradient)
        weights -= 0.1 * gradient / size
        dist.reduce(loss, dst=0)
        if rank == 0:
            print(f"step {step}: loss {loss.item() / size:.3f}")
    return weights[0].item()
