"""A step's script computes what the step is priced for: operation by operation, counted as torch runs it on tensors
without memory. Without torch and the library that has the model a test says that it is skipped."""

import contextlib
import importlib
from types import SimpleNamespace

import pytest

import collsim as cs
from collsim.train import get_eager_speed
from collsim.train.workload.decoder_shape import read_decoder_shape

BOX = cs.machine("dgx-h100")
#: Thirteen models of the catalogue: options of the model, type of its weights (float32 under autocast where it is not that
#: of the step), type of the step, memory format, kernels and kind of the optimizer, samples, library.
STEPS = {
    "resnet18": ({}, "float32", "float32", "channels_first", "foreach", "momentum", 4, "torchvision"),
    "resnet50": ({}, "float32", "bfloat16", "channels_last", "fused", "adam", 2, "torchvision"),
    "resnext50_32x4d": ({}, "bfloat16", "bfloat16", "channels_last", "foreach", "sgd", 2, "torchvision"),
    "vgg16": ({}, "float32", "bfloat16", "channels_first", "foreach", "sgd", 2, "torchvision"),
    "mobilenet_v2": ({}, "float32", "bfloat16", "channels_last", "fused", "momentum", 3, "torchvision"),
    "vit_b_16": ({}, "bfloat16", "bfloat16", "channels_first", "fused", "adam", 2, "torchvision"),
    "bert-base": ({"masked_lm": True, "seq": 128}, "float32", "bfloat16", "", "foreach", "adam", 3, "transformers"),
    "gpt2": ({"flash": False, "seq": 256}, "float32", "bfloat16", "", "fused", "adam", 2, "transformers"),
    "gpt2-medium": ({"seq": 512}, "bfloat16", "bfloat16", "", "foreach", "adam", 1, "transformers"),
    "llama3-8b": ({"huggingface": True, "seq": 64}, "bfloat16", "bfloat16", "", "fused", "adam", 1, "transformers"),
    "mistral-7b": (
        {"huggingface": True, "flash": False, "seq": 64},
        "bfloat16",
        "bfloat16",
        "",
        "fused",
        "adam",
        1,
        "transformers",
    ),
    "llama2-7b": ({"seq": 128}, "float32", "bfloat16", "", "foreach", "adam", 1, ""),
    "gpt3-13b": ({"seq": 64}, "float32", "float32", "", "foreach", "sgd", 1, ""),
}
#: FLOPs that no layer has: sums of rotary angles.
NEXT_TO_NOTHING = 1e-5


def build_step(name):
    options, weights, dtype, memory_format, kernels, optimizer, samples, _ = STEPS[name]
    speed = get_eager_speed("H100", dtype, memory_format=memory_format or "channels_first", optimizer_kernels=kernels)
    return cs.training_step(
        cs.model(name, **options).to(weights),
        BOX,
        parallel=cs.ddp(),
        ranks=1,
        micro_batch=samples,
        dtype=dtype,
        optimizer=optimizer,
        compute=speed,
        memory=1e15,
    )


def run_without_memory(code, torch):
    """Everything of a script from its model to its step, in one process: what it has defined."""
    begin, end = code.index("torch.manual_seed(rank)\n"), code.index("\n\ndef now():")
    asked = SimpleNamespace(same_tensors=False, batch=int(code.split('"--batch", type=int, default=')[1].split(",")[0]))
    names = {"torch": torch, "contextlib": contextlib, "device": torch.device("meta"), "asked": asked, "gpu": False}
    names |= {"rank": 0, "n": 1, "nn": torch.nn, "F": torch.nn.functional, "dist": SimpleNamespace()}
    whole = torch.nn.parallel.DistributedDataParallel
    torch.nn.parallel.DistributedDataParallel = lambda model, **_: model
    try:
        with torch.device("meta"):
            exec(compile(code[begin:end].removeprefix("torch.manual_seed(rank)\n"), "step.py", "exec"), names)
    finally:
        torch.nn.parallel.DistributedDataParallel = whole
    return names


def pretend_memory(model, torch):
    """Tensors of a model on the device meta as ones of the CPU, which autocast knows; they have no memory either."""
    copies = {}

    def copy(tensor):
        if id(tensor) not in copies:
            shape = tensor.shape, tensor.stride()
            empty = torch.empty_strided(*shape, dtype=tensor.dtype, device="cpu")
            copies[id(tensor)] = torch.nn.Parameter(empty) if isinstance(tensor, torch.nn.Parameter) else empty
        return copies[id(tensor)]

    for module in model.modules():
        for owned in (module._parameters, module._buffers):
            owned.update({name: copy(tensor) for name, tensor in owned.items() if tensor is not None})


def build_counter():
    """What lists (FLOPs, name, tensors) of each product that torch runs."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    torch = importlib.import_module("torch")

    class Products(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.listed = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if count := flop_registry.get(function._overloadpacket):
                tensors = [part for part in args if isinstance(part, torch.Tensor)]
                self.listed.append((count(*args, **(kwargs or {}), out_val=out), str(function), tensors))
            return out

    return Products()


def match_layers(priced, counts, tolerance=1e-9):
    """Each layer takes its FLOPs from the front of what was counted: several products where it has them (queries and
    keys, then values), and it ends with one of them; nothing is left."""
    for layer, flops in priced:
        left = flops
        while left > tolerance * flops:
            assert counts, layer.name
            left -= counts.pop(0)
        assert left == pytest.approx(0, abs=tolerance * flops), layer.name
    assert not counts


def list_priced(model, samples):
    """Layers with a product, each with the FLOPs of its forward pass."""
    return [(layer, layer.flops * samples) for layer in model.layers if layer.kind not in ("elementwise", "norm")]


@pytest.fixture
def counted(request):
    """The step of a model, what its script has defined, and (FLOPs, name, tensors) of each product of a forward and a
    backward pass."""
    torch = pytest.importorskip("torch", reason="torch is not installed: script and price are not compared")
    library = STEPS[request.param][-1]
    if library:
        pytest.importorskip(library, reason=f"{library} is not installed: script and price are not compared")
    from torch._subclasses.fake_tensor import FakeTensorMode

    trace = build_step(request.param)
    context = contextlib.nullcontext()
    if "with torch.autocast(device.type, torch.bfloat16):" in trace.script():
        context = torch.autocast("cpu", torch.bfloat16)
    script = run_without_memory(trace.script(), torch)
    script["device"] = torch.device("cpu")
    model, x, loss = (script[name] for name in ("model", "x", "loss"))
    with FakeTensorMode(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        pretend_memory(model, torch)
        x = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cpu")
        with build_counter() as forward, context:
            out = loss(model(x))
        with build_counter() as backward:
            out.backward()
    return trace, script, forward.listed, backward.listed


@pytest.mark.parametrize("counted", STEPS, indirect=True)
def test_a_script_computes_what_is_priced_operation_by_operation(counted):
    trace, script, forward, backward = counted
    model, samples = trace.step.model, trace.step.micro_batch
    assert script["x"].shape[0] == samples
    priced = list_priced(model, samples)
    total = sum(flops for _, flops in priced)
    match_layers(priced, [flops for flops, *_ in forward if flops > NEXT_TO_NOTHING * total])
    if any(layer.kind == "convolution" and layer.width for layer in model.layers):
        return  # torch's own count of the backward pass of a grouped convolution leaves out the groups
    images = [flops for layer, flops in priced if layer.kind == "convolution"][:1]  # they have no gradient
    assert sum(flops for flops, *_ in backward) == pytest.approx(2 * total - sum(images), rel=1e-4)


@pytest.mark.parametrize(
    "parallel",
    [
        cs.fsdp(),
        cs.zero(1),
        cs.zero(3),
        cs.tensor(2) * cs.ddp(),
        cs.pipeline(2) * cs.ddp(),
        cs.pipeline(4, "zbv") * cs.zero(1),
        cs.tensor(2) * cs.pipeline(2),
    ],
    ids=lambda parallel: parallel.label,
)
@pytest.mark.parametrize("name", ["gpt2", "llama2-7b"])
def test_the_stages_of_a_split_compute_together_what_is_priced(name, parallel):
    """Before they are cut and shared out: those are torch's own functions, whose bytes `test_products.py` counts."""
    torch = pytest.importorskip("torch", reason="torch is not installed: script and price are not compared")
    options = {"ranks": 4, "batch": 16, "micro_batch": 2, "memory": 1e15}
    step = cs.training_step(cs.model(name, seq=64), BOX, parallel=parallel, **options)
    code = step.script()
    end = max(code.find("\nmodel = make(0)\n"), code.find("\nmine = "))
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "device": torch.device("meta"), "rank": 0}
    for function in ("fully_shard", "replicate", "parallelize_module"):
        names[function] = lambda module, *_, **__: module
    for function in ("MixedPrecisionPolicy", "PrepareModuleInput", "ColwiseParallel", "RowwiseParallel", "Shard"):
        names[function] = lambda *_, **__: None
    names |= {"Replicate": lambda: None, "mesh": {"dp": None, "tp": None}}
    exec(compile(code[code.index("# The sizes of") : end], "step.py", "exec"), names)
    x = torch.zeros((2, 64), dtype=torch.long, device="meta")
    with build_counter() as forward, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        for number in range(len(names["STAGES"])):
            x = names["make"](number)(x)
    priced = list_priced(step.step.model, 2)
    total = sum(flops for _, flops in priced)
    # Tensor parallelism pads the words of a vocabulary to a multiple of its GPUs.
    match_layers(priced, [flops for flops, *_ in forward.listed if flops > NEXT_TO_NOTHING * total], tolerance=1e-4)


@pytest.mark.parametrize("counted", STEPS, indirect=True)
def test_a_script_has_the_weights_types_and_layout_that_are_priced(counted):
    torch = importlib.import_module("torch")
    trace, script, forward, _ = counted
    name = trace.step.model.name
    _, weights, dtype, memory_format, kernels, optimizer, _, _ = STEPS[name]
    parameters = list(script["model"].parameters())
    assert sum(p.numel() for p in parameters) == trace.step.model.parameters
    assert {p.dtype for p in parameters} == {getattr(torch, weights)}
    for _, operation, tensors in forward:  # products of queries and keys: as the kernel of attention has them
        if "bmm" not in operation:
            assert {tensor.dtype for tensor in tensors} == {getattr(torch, dtype)}
    layouts = {
        tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
        for *_, tensors in forward
        for tensor in tensors[:2]
        if tensor.dim() == 4 and min(tensor.shape[1:]) > 1
    }
    assert layouts <= {memory_format == "channels_last"}
    assert layouts or not memory_format
    made = script["optimizer"]
    assert made.defaults[kernels] is True
    assert isinstance(made, torch.optim.Adam if optimizer == "adam" else torch.optim.SGD)
    assert made.defaults.get("momentum", 0) == (0.9 if optimizer == "momentum" else 0)


@pytest.mark.parametrize(
    ("model", "parallel"),
    [
        ("mixtral-8x7b", cs.ddp()),
        ("resnet18", cs.zero(1)),
        ("bert-base", cs.fsdp()),
        ("resnet18", cs.pipeline(2) * cs.ddp()),
    ],
)
def test_a_script_of_a_model_without_a_module_says_that_its_time_is_none_of_the_step(model, parallel):
    step = cs.training_step(model, BOX, parallel=parallel, ranks=4, batch=16, micro_batch=2, memory=1e15)
    assert "its time is not" in step.script()


@pytest.mark.parametrize(
    "options", [{}, {"flash": False}, {"huggingface": True}, {"huggingface": True, "flash": False}]
)
@pytest.mark.parametrize("name", ["gpt2", "llama3-8b", "mistral-7b"])
def test_the_sizes_of_a_decoder_are_read_however_pytorch_runs_it(name, options):
    """Without torch, too: a script has a module for each of them."""
    if name == "gpt2":  # always huggingface's
        options = {key.replace("huggingface", "dropout"): False for key in options}
    model = cs.model(name, seq=128, **options)
    shape = read_decoder_shape(model)
    assert shape is not None
    assert (shape.heads, shape.flash) == (12 if name == "gpt2" else 32, options.get("flash", True))
    assert read_decoder_shape(model.to("bfloat16")) is not None


@pytest.mark.parametrize("parallel", [cs.ddp(), cs.fsdp(), cs.tensor(2) * cs.ddp(), cs.pipeline(2) * cs.ddp()])
def test_a_script_of_a_decoder_does_not_deny_its_time(parallel):
    step = cs.training_step("llama2-7b", BOX, parallel=parallel, ranks=4, batch=16, micro_batch=2, memory=1e15)
    assert "its time is not" not in step.script()


@pytest.mark.parametrize(
    ("parallel", "line"),
    [
        (cs.ddp(), 'model = torch.compile(model, mode="reduce-overhead")'),
        (cs.fsdp(), 'model = torch.compile(model, mode="reduce-overhead")'),
        (cs.pipeline(2), 'parts = [torch.compile(part, mode="reduce-overhead") for part in parts]'),
    ],
)
def test_a_script_compiles_what_is_priced_as_compiled(parallel, line):
    options = {"parallel": parallel, "ranks": 2, "batch": 4, "micro_batch": 2, "memory": 1e15}
    eager, compiled = (
        cs.training_step("gpt2", BOX, compute=get_eager_speed("H100", compile=mode), **options)
        for mode in ("none", "reduce-overhead")
    )
    assert f"\n{line}\n" in compiled.script()
    assert "torch.compile" not in eager.script()
    compile(compiled.script(), "step.py", "exec")
