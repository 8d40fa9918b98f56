"""A short call of every command, and the files that they read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Commands that answer with nothing: what they do does not end by itself.
SERVE = {"app", "mcp"}
SMALL = ("--topology", "switch(4)", "--nbytes", "1MiB")
COMMANDS = {
    "list": ["machines"],
    "show": ["allreduce_ring", "--ranks", "3"],
    "verify": ["allreduce_ring", "--ranks", "2:5"],
    "run": ["allreduce_ring", *SMALL],
    "compare": ["--algorithm", "allreduce_ring", "--channels", "1", "--chunks", "1", *SMALL],
    "sweep": ["plan.yaml"],
    "real": ["allreduce_ring", "--ranks", "2", "--nbytes", "1KiB", "--alpha", "1ms", "--repeat", "1"],
    "real-library": ["--ranks", "2", "--nbytes", "1KiB", "--repeat", "1"],
    "real-step": ["2x1KiB", "--ranks", "2", "--compute", "4ms", "--alpha", "1ms", "--repeat", "1"],
    "train": ["resnet50", "--machine", "dgx-a100", "--batch", "256"],
    "upgrades": ["resnet50", "--machine", "pcie-8gpu", "--nodes", "2", "--batch", "256", "--part", "nic"],
    "train-search": ["gpt2", "--machine", "dgx-a100", "--batch", "32", "--top", "1"],
    "train-accuracy": ["steps.csv", "-o", "answered.csv"],
    "train-pipeline": ["2", "--microbatches", "2"],
    "program": ["mine.py", "--ranks", "2"],
    "hang": ["ras.txt"],
    "diagnose": ["sysctl.txt"],
    "read-script": ["train.py"],
    "synthesize": ["allgather", "--topology", "ring(4)"],
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
