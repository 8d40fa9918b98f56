"""Scripts of the kinds that people publish and that are right: each way of starting, giving out data and averaging."""

from itertools import product

STARTS = {
    "torchrun": """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(backend="nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
device = torch.device("cuda", local_rank)
""",
    "device_id": """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}")
dist.init_process_group("nccl", device_id=device)
""",
    "modulo": """
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
rank = dist.get_rank()
device = rank % torch.cuda.device_count()
torch.cuda.set_device(device)
""",
    "argument": """
import argparse
import torch
import torch.nn as nn
import torch.distributed
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
torch.distributed.init_process_group("nccl", init_method="env://")
device = torch.device("cuda:%d" % args.local_rank)
""",
    "cpu": """
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
device = "cpu"
""",
}
MODELS = {
    "moved": "model = nn.Linear(10, 1).to(device)\nmodel = DDP(model)\n",
    "ids": "net = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))\nnet = net.to(device)\nmodel = DDP(net)\n",
    "statement": "net = nn.Linear(10, 1)\nnet.to(device)\nmodel = DDP(net, find_unused_parameters=False)\n",
}
DATA = {
    "sampler": """
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dataset = TensorDataset(torch.randn(1000, 10), torch.randn(1000, 1))
sampler = DistributedSampler(dataset, shuffle=True)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
test_loader = DataLoader(dataset, batch_size=64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "made in the loop": """
optimizer = torch.optim.Adam(model.parameters())
for step in range(100):
    inputs = torch.randn(32, 10, device=device)
    targets = torch.randn(32, 1, device=device)
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
""",
    "accumulation": """
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

data = TensorDataset(torch.randn(1000, 10), torch.randn(1000, 1))
loader = DataLoader(data, 8, False, DistributedSampler(data, shuffle=False))
scaler = torch.amp.GradScaler()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device)) / 4
        scaler.scale(loss).backward()
        if (i + 1) % 4 == 0:
            scaler.step(optimizer)
            scaler.update()
            for p in model.parameters():
                p.grad = None
""",
    "one step": """
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
optimizer.zero_grad()
outputs = model(torch.randn(20, 10).to(device))
nn.functional.mse_loss(outputs, torch.randn(20, 1).to(device)).backward()
optimizer.step()
dist = torch.distributed
dist.destroy_process_group()
""",
}
WHOLE = {
    "apex": """
import argparse
import torch
import torch.distributed as dist
from apex import amp
from apex.parallel import DistributedDataParallel as ApexDDP
from apex.parallel import convert_syncbn_model
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=0, type=int)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group(backend="nccl", init_method="env://")
model = torch.nn.Linear(20, 2)
model = convert_syncbn_model(model)
model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
model = ApexDDP(model)
ds = torch.utils.data.TensorDataset(torch.randn(100, 20), torch.randint(0, 2, (100,)))
sampler = torch.utils.data.distributed.DistributedSampler(ds)
loader = torch.utils.data.DataLoader(ds, batch_size=10, sampler=sampler)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
""",
    "loaders of one function": """
import os
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 3)
        self.fc = torch.nn.Linear(8 * 26 * 26, 10)
    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))
def get_loader(train, bs):
    ds = datasets.MNIST("/tmp", train=train, download=True, transform=transforms.ToTensor())
    if train:
        s = DistributedSampler(ds)
        return DataLoader(ds, batch_size=bs, sampler=s), s
    return DataLoader(ds, batch_size=bs, shuffle=False), None
@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = torch.zeros(1, device=device)
    total = torch.zeros(1, device=device)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1)
        correct += (pred == y.to(device)).sum()
        total += y.numel()
    dist.all_reduce(correct)
    dist.all_reduce(total)
    return (correct / total).item()
def main():
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{gpu}")
    torch.cuda.set_device(device)
    model = DDP(Net().to(device), device_ids=[gpu])
    opt = torch.optim.Adadelta(model.parameters())
    train_loader, train_sampler = get_loader(True, 64)
    test_loader, _ = get_loader(False, 1000)
    for epoch in range(1, 4):
        train_sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            opt.step()
        acc = evaluate(model, test_loader, device)
        if dist.get_rank() == 0:
            print(acc)
    dist.destroy_process_group()
main()
""",
    "wrapped before it is moved": """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(100, 5), torch.randint(0, 2, (100,))), batch_size=30, shuffle=True)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
""",
    "slurm": """
import os, socket
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
import torch.nn as nn

def setup_slurm():
    rank = int(os.environ["SLURM_PROCID"])
    world_size = int(os.environ["SLURM_NTASKS"])
    local_rank = int(os.environ["SLURM_LOCALID"])
    os.environ["RANK"] = str(rank)
    os.environ["WORLD_SIZE"] = str(world_size)
    os.environ["LOCAL_RANK"] = str(local_rank)
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    return rank, local_rank, world_size

rank, local_rank, world_size = setup_slurm()
device = torch.device("cuda", local_rank)
model = nn.Linear(32, 4).to(device)
model = DDP(model, device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
train = torch.utils.data.TensorDataset(torch.randn(512, 32), torch.randn(512, 4))
sampler = torch.utils.data.distributed.DistributedSampler(train, num_replicas=world_size, rank=rank, shuffle=True)
loader = torch.utils.data.DataLoader(train, batch_size=16, sampler=sampler)
for epoch in range(10):
    sampler.set_epoch(epoch)
    for a, b in loader:
        optimizer.zero_grad()
        loss = ((model(a.to(device)) - b.to(device)) ** 2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if rank == 0:
        print(epoch, loss.item())
dist.destroy_process_group()
""",
    "a group where there is a rank": """
import os
import torch
import torch.distributed as dist
from contextlib import nullcontext
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group(backend="nccl")
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    device = f"cuda:{ddp_local_rank}"
    torch.cuda.set_device(device)
    master_process = ddp_rank == 0
    seed_offset = ddp_rank
else:
    master_process, seed_offset, device = True, 0, "cuda"
torch.manual_seed(1337 + seed_offset)
model = torch.nn.Linear(16, 16)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters())
if ddp:
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[ddp_local_rank])
raw_model = model.module if ddp else model
def get_batch():
    x = torch.randn(12, 16)
    return x.to(device), x.to(device)
it = 0
while True:
    for micro_step in range(4):
        if ddp:
            model.require_backward_grad_sync = micro_step == 3
        X, Y = get_batch()
        loss = ((model(X) - Y) ** 2).mean() / 4
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    it += 1
    if it > 10:
        break
if ddp:
    dist.destroy_process_group()
""",
    "mesh": """
import os
import torch
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(8, 256, device="cuda")
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
""",
    "stream": """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for i in range(dist.get_rank(), 1000, dist.get_world_size()):
            yield torch.full((4,), float(i))
dist.init_process_group("nccl")
lr = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(lr)
model = DDP(torch.nn.Linear(4, 1).to(lr), device_ids=[lr])
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
for x in torch.utils.data.DataLoader(Stream(), batch_size=10):
    loss = model(x.to(lr)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "spawn": """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(torch.relu(self.net1(x)))


def demo_basic(rank, world_size):
    setup(rank, world_size)
    model = ToyModel().to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(rank)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    n_gpus = torch.cuda.device_count()
    mp.spawn(demo_basic, args=(n_gpus,), nprocs=n_gpus, join=True)
""",
    "trainer class": """
import os
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed import init_process_group, destroy_process_group


def ddp_setup():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    init_process_group(backend="nccl")


class Trainer:
    def __init__(self, model, train_data, optimizer, save_every, snapshot_path):
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.model = model.to(self.gpu_id)
        self.train_data = train_data
        self.optimizer = optimizer
        self.epochs_run = 0
        self.model = DDP(self.model, device_ids=[self.gpu_id])

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        output = self.model(source)
        loss = F.cross_entropy(output, targets)
        loss.backward()
        self.optimizer.step()

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        for source, targets in self.train_data:
            self._run_batch(source.to(self.gpu_id), targets.to(self.gpu_id))

    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)


def prepare_dataloader(dataset: Dataset, batch_size: int):
    return DataLoader(dataset, batch_size=batch_size, pin_memory=True, shuffle=False, sampler=DistributedSampler(dataset))
""",
    "imagenet": """
import os
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.utils.data
import torchvision.models as models
import torchvision.datasets as datasets


def main_worker(gpu, ngpus_per_node, args):
    args.gpu = gpu
    if args.distributed:
        if args.dist_url == "env://" and args.rank == -1:
            args.rank = int(os.environ["RANK"])
        if args.multiprocessing_distributed:
            args.rank = args.rank * ngpus_per_node + gpu
        dist.init_process_group(
            backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=args.rank
        )
    model = models.__dict__[args.arch]()
    if args.distributed:
        if args.gpu is not None:
            torch.cuda.set_device(args.gpu)
            model.cuda(args.gpu)
            args.batch_size = int(args.batch_size / ngpus_per_node)
            model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])
        else:
            model.cuda()
            model = torch.nn.parallel.DistributedDataParallel(model)
    else:
        model = torch.nn.DataParallel(model).cuda()
    criterion = nn.CrossEntropyLoss().to(args.gpu)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum)
    train_dataset = datasets.ImageFolder(args.data)
    val_dataset = datasets.ImageFolder(args.data)
    if args.distributed:
        train_sampler = torch.utils.data.distributed.DistributedSampler(train_dataset)
    else:
        train_sampler = None
    train_loader = torch.utils.data.DataLoader(
        train_dataset, batch_size=args.batch_size, shuffle=(train_sampler is None), sampler=train_sampler
    )
    val_loader = torch.utils.data.DataLoader(val_dataset, batch_size=args.batch_size, shuffle=False)
    for epoch in range(args.start_epoch, args.epochs):
        if args.distributed:
            train_sampler.set_epoch(epoch)
        for images, target in train_loader:
            images = images.cuda(args.gpu, non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


mp.spawn(main_worker, nprocs=4, args=(4, None))
""",
    "fsdp": """
import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data.distributed import DistributedSampler

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = FSDP(build(), device_id=torch.cuda.current_device())
optimizer = torch.optim.AdamW(model.parameters())
sampler = DistributedSampler(dataset, rank=dist.get_rank(), num_replicas=dist.get_world_size(), shuffle=True)
loader = torch.utils.data.DataLoader(dataset, batch_size=4, sampler=sampler)
for epoch in range(1, 3):
    sampler.set_epoch(epoch)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
total = torch.zeros(2).to(local_rank)
dist.all_reduce(total, op=dist.ReduceOp.SUM)
""",
    "fully_shard": """
import os
import torch
from torch.distributed import init_process_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank = int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{rank}")
torch.cuda.set_device(device)
init_process_group(backend="nccl", device_id=device)
mesh = init_device_mesh("cuda", (8,))
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model)
optim = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    x = torch.randint(0, 100, (8, 512), device=device)
    loss = model(x).sum()
    loss.backward()
    optim.step()
    optim.zero_grad()
""",
    "by hand": """
import torch
import torch.distributed as dist


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def run(rank, size):
    torch.manual_seed(1234)
    train_set, bsz = partition_dataset()
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    for epoch in range(10):
        for data, target in train_set:
            optimizer.zero_grad()
            loss = torch.nn.functional.nll_loss(model(data), target)
            loss.backward()
            average_gradients(model)
            optimizer.step()


def init_process(rank, size, fn, backend="gloo"):
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
""",
    "one GPU": """
import torch
from torch import nn

model = nn.Linear(10, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
""",
    "data parallel": """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = Model(5, 2)
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
model.to(device)
for data in DataLoader(dataset, batch_size=30, shuffle=True):
    output = model(data.to(device))
""",
    "messages": """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
tensor = torch.zeros(1)
if dist.get_rank() == 0:
    tensor += 1
    dist.send(tensor=tensor, dst=1)
elif dist.get_rank() == 1:
    dist.recv(tensor=tensor, src=0)
dist.monitored_barrier()
""",
    "accelerate": """
from accelerate import Accelerator
import torch

accelerator = Accelerator()
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for source, targets in data:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(source), targets)
    accelerator.backward(loss)
    optimizer.step()
""",
    "stream of a rank": """
import os
import torch
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group(backend="nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
stream = split_dataset_by_node(load_dataset("c4", streaming=True), rank=int(os.environ["RANK"]), world_size=8)
loader = torch.utils.data.DataLoader(stream, batch_size=8)
model = DistributedDataParallel(Model().cuda(), device_ids=[local_rank], output_device=local_rank)
optimizer = torch.optim.AdamW(model.parameters())
for step, batch in enumerate(loader):
    loss = model(batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
""",
}
MADE = {
    f"{start}, {model}, {data}": STARTS[start] + MODELS[model] + DATA[data]
    for start, model, data in product(STARTS, MODELS, DATA)
}
CORRECT = MADE | WHOLE
