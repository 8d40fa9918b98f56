"""A short call of every command, and the files that they read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Commands that answer with nothing: what they do does not end by itself.
SERVE = {"app", "mcp"}
SMALL = ("--topology", "switch(4)", "--nbytes", "1MiB")
RAILS = "dgx-h100(nodes=4, gpus=2, fabric=rail, unit=2)"
COMMANDS = {
    "list": ["machines"],
    "show": ["allreduce_ring", "--ranks", "3"],
    "verify": ["allreduce_ring", "--ranks", "2:5"],
    "run": ["allreduce_ring", *SMALL],
    "compare": ["--algorithm", "allreduce_ring", "--channels", "1", "--chunks", "1", *SMALL],
    "sweep": ["plan.yaml"],
    "routing": ["allreduce_recursive_doubling", "--topology", RAILS, "--seeds", "3", "--nbytes", "1MiB"],
    "real": ["allreduce_ring", "--ranks", "2", "--nbytes", "1KiB", "--alpha", "1ms", "--repeat", "1"],
    "real-library": ["--ranks", "2", "--nbytes", "1KiB", "--repeat", "1"],
    "real-step": ["2x1KiB", "--ranks", "2", "--compute", "4ms", "--alpha", "1ms", "--repeat", "1"],
    "train": ["resnet50", "--machine", "dgx-a100", "--batch", "256"],
    "upgrades": ["resnet50", "--machine", "pcie-8gpu", "--nodes", "2", "--batch", "256", "--part", "nic"],
    "inference": ["llama3-8b", "--machine", "dgx-a100", "--tensor", "2"],
    "goodput": ["resnet50", "--machine", "dgx-a100", "--batch", "256", "--run-gpus", "1024"],
    "train-search": ["gpt2", "--machine", "dgx-a100", "--batch", "32", "--top", "1"],
    "train-accuracy": ["steps.csv", "-o", "answered.csv"],
    "train-pipeline": ["2", "--microbatches", "2"],
    "program": ["mine.py", "--ranks", "2"],
    "hang": ["ras.txt"],
    "diagnose": ["sysctl.txt"],
    "read-script": ["train.py"],
    "synthesize": ["allgather", "--topology", "ring(4)"],
    "glossary": ["GDR"],
    "convert": [str(ROOT / "examples" / "algorithm.xml"), "out.json"],
    "accuracy": ["cases.csv", "measured.csv"],
    "predict": ["allreduce", "--machine", "dgx-h100", "--nbytes", "1GiB"],
    "nccl-diff": ["2.30", "2.32", "--machine", "dgx-a100", "--nbytes", "1MiB"],
    "calibrate": [str(ROOT / "examples" / "all_reduce_perf.txt"), "--machine", "dgx-a100"],
    "worksheet": ["sheet.md", "--topology", "ring(4)", "--count", "2"],
    "slides": ["slides.html", "--lesson", "1"],
    "grade": ["handed-in", "--only", "send-one-chunk"],
    "site": ["out"],
    "plan-schema": [],
}
FILES = {
    "plan.yaml": "algorithm: allreduce_ring\ntopology: switch(4)\nnbytes: 1MiB\n",
    "steps.csv": "model,batch,gpus,gpu_type,mode,value,unit\nresnet50,256,8,A100,ddp,1,s\n",
    "cases.csv": "case_id,gpu,ranks,nodes,collective,intra_link,inter_link,gdr,algo,proto\n"
    "one,A100-SXM4,8,1,allreduce,nvlink3-nvswitch,none,,auto,auto\n",
    "measured.csv": "case_id,size_bytes,time_us\none,1048576,38\n",
    "sysctl.txt": "kernel.numa_balancing = 0\n",
    "ras.txt": "Communicators... (0.00s)\n    0         1         1         4         4         4   RUNNING      OK\n",
    "train.py": "from torch.nn.parallel import DistributedDataParallel\n",
    "mine.py": "def run(rank, size):\n    return rank\n",
    "handed-in/ada.py": "import collsim as cs\n\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n",
}
#: Further calls of a command, whose `--json` has other parts: with these a schema knows what may be missing or null.
VARIANTS = {
    "list": [["algorithms"], ["topologies"], ["collectives"], ["models"], ["formats"]],
    "show": [["broadcast_chain", "--ranks", "4"], ["allreduce_parameter_server", "--ranks", "3"]],
    "verify": [["allreduce_halving_doubling", "--ranks", "2:6"], ["broken.py:broken", "--ranks", "2:4"]],
    "run": [
        ["allreduce_ring", "--machine", "dgx-a100", "--nodes", "2", "--engine", "event"],
        ["broadcast_chain", "--topology", "ring(5)", "--engine", "event", "--jitter", "1us"],
        ["allreduce_ring", "--beside", "allreduce_tree", "--engine", "event", *SMALL],
        ["allgather_ring", "--synthesize", "--topology", "ring(4)", "--nbytes", "1MiB"],
        ["allreduce_ring", "--topology", "switch(1)", "--nbytes", "1MiB"],
    ],
    "compare": [
        ["--collective", "broadcast", "--topology", "ring(4)", "--nbytes", "1KiB:1MiB:32"],
        ["--model", "gpt2", "--machine", "dgx-a100", "--batch", "32"],
        ["allgather", "--synthesize", "--topology", "ring(4)", "--nbytes", "1MiB"],
    ],
    "sweep": [["training.yaml"]],
    "train": [
        ["gpt2", "--machine", "dgx-a100", "--nodes", "2", "--batch", "64", "--parallel", "fsdp"],
        ["resnet50", "--machine", "dgx-a100", "--batch", "256", "--what-if", "network=2", "--what-if", "bucket=1MiB"],
        ["llama2-7b", "--machine", "dgx-h100", "--batch", "4", "--parallel", "tensor(8)", "--network", "shared"],
        ["gpt2", "--machine", "dgx-a100", "--batch", "32", "--parallel", "pipeline(4)*ddp()", "--micro-batch", "2"],
    ],
    "upgrades": [
        ["allreduce", "--machine", "dgx-a100", "--nodes", "2", "--nbytes", "1GiB", "--part", "nic"],
        [
            *("resnet50", "--machine", "pcie-8gpu", "--nodes", "2", "--batch", "256", "--part", "nic"),
            *("--gpu-hour", "2.5", "--kwh", "0.3", "--epoch", "1281167"),
        ],
        ["gpt2", "--machine", "dgx-a100", "--batch", "32", "--part", "p2p", "--tokens", "1e9"],
    ],
    "train-search": [["gpt2", "--machine", "dgx-a100", "--batch", "32", "--memory", "4GB"]],
    "train-pipeline": [["4", "--microbatches", "6", "--forward", "1ms", "--backward", "2ms"]],
    "program": [
        ["hang.py", "--ranks", "2"],
        ["ring.py", "--ranks", "3", "--machine", "dgx-a100"],
        ["ring.py", "--ranks", "3", "--collective", "allreduce"],
        ["hang.py", "--ranks", "2", "--timeout", "30s"],
    ],
    "diagnose": [
        ["nccl.log"],
        [str(ROOT / "examples" / "slow-job")],
        [str(ROOT / "examples" / "health-check"), "--fleet"],
        [str(ROOT / "examples" / "slow-job"), "--model", "gpt2", "--batch", "64"],
    ],
    "read-script": [["wrong.py"]],
    "synthesize": [["allreduce", "--topology", "ring(3)"], ["broadcast", "--machine", "dgx-1v"]],
    "predict": [["alltoall", "--machine", "rtx4090-8gpu"], ["broadcast", "--machine", "dgx-a100", "--nodes", "4"]],
    "nccl-diff": [["2.18", "2.30", "--machine", "dgx-h100", "--nodes", "2"], ["2.30", "2.32", "--nbytes", "1MiB"]],
    "grade": [["handed-in"]],
}
FILES |= {
    "broken.py": "import collsim as cs\n\n@cs.algorithm('broadcast')\ndef broken(n):\n    yield cs.copy(0, 1, chunk=0)\n",
    "training.yaml": "model: resnet50\nparallel: ddp\ntopology: {machine: dgx-a100, nodes: [1, 2]}\nbatch: 256\n",
    "hang.py": "import torch.distributed as dist\nimport torch\n\ndef run(rank, size):\n    x = torch.zeros(4)\n"
    "    dist.recv(x, (rank + 1) % size)\n",
    "ring.py": "import torch.distributed as dist\nimport torch\n\ndef run(rank, size):\n    x = torch.ones(4) * rank\n"
    "    dist.all_reduce(x)\n    print(x)\n    return x\n",
    "nccl.log": "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n",
    "wrong.py": "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel\n\n"
    "def main():\n    model = DistributedDataParallel(build())\n    for x, y in loader:\n"
    "        loss = criterion(model(x), y)\n        loss.backward()\n        optimizer.step()\n",
}
