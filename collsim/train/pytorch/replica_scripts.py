"""Scripts of replicas that hold the whole model: DistributedDataParallel, DataParallel.

They train the model whose operations are priced: torchvision's or transformers' where the library is installed, or a
decoder of the same sizes that stands in the script; else a module with the same parameter tensors, whose buckets are
the same and whose computing is not. They print the buckets and the overlap that DDP itself reports.
Sources: torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d (logger.cpp).
"""

from __future__ import annotations

from ...package_data import read_texts
from ..parallel.ddp_strategy import DDP
from ..parallel.strategy import Workload
from ..workload.decoder_shape import read_decoder_shape
from ..workload.model import Model
from .decoder_modules import write_decoder
from .script_parts import JOIN, ScriptedStep, escape_name, format_numbers, write_header, write_timing

_PARTS = read_texts(__file__, "replica_scripts.toml")

#: What the source of models begins with that torchvision has, by the names of the catalogue.
_VISION = "torchvision/models/"
#: Where no module stands for the layers of a model.
_NO_MODULE = """\
print("a module with the tensors of {model}: its buckets are those of the step, its time is not")
    """


def write_ddp_script(step: ScriptedStep) -> str:
    """A script of DistributedDataParallel."""
    assert isinstance(step.parallel, DDP)
    return _write_script(step, JOIN, *_write_ddp_parts(step, step.parallel))


def write_data_parallel_script(step: ScriptedStep) -> str:
    """A script of DataParallel, in one process."""
    return _write_script(step, _PARTS["one_process"], *_write_data_parallel_parts(step))


def _write_script(step: ScriptedStep, join: str, wrap: str, body: str, report: str) -> str:
    """Head, what splits, model, step, times."""
    workload = step.workload
    samples = "asked.batch * n"
    if workload.accumulate > 1:
        samples = f"asked.batch * n * {workload.accumulate}"
    return (
        write_header(step, _write_imports(workload))
        + _PARTS["ask"].format(micro=workload.micro_batch)
        + join
        + _write_same_tensors(workload.model)
        + _write_model(workload)
        + wrap
        + f"optimizer = {step.write_optimizer('model.parameters()')}\n"
        + body
        + write_timing(step, samples)
        + report
    )


def _write_imports(workload: Workload) -> str:
    """What a decoder in the script needs."""
    if "Decoder(Stage)" in _write_model(workload):
        return "import torch.nn.functional as F\nfrom torch import nn\n"
    return ""


def _write_same_tensors(model: Model) -> str:
    sizes = [n for layer in model.layers for n in layer.tensors]
    used = list(reversed(model.gradient_order))
    order = "range(len(TENSORS))"
    if used != list(range(len(used))):
        order = f"[\n{format_numbers(used)}\n]"
    buffers = ", ".join(str(n) for layer in model.layers for n in layer.buffers)
    many = buffers
    if len(buffers) > 100:
        many = f"\n{format_numbers([n for layer in model.layers for n in layer.buffers])}\n"
    return _PARTS["same_tensors"].format(
        tensors=format_numbers(sizes), used=order, buffers=many, model=escape_name(model.name)
    )


def _write_model(workload: Workload) -> str:
    """`make(samples)`: the model and its inputs, and `loss`."""
    model = workload.model
    if model.source.startswith(_VISION):
        real = f"torchvision.models.{model.name}(), torch.randn(samples, 3, 224, 224)"
        return _PARTS["real_model"].format(library="torchvision", real=real) + _PARTS["classes"]
    if f"sizes.{model.name}" in _PARTS:
        return _write_text_model(model) + _PARTS["mean"]
    shape = read_decoder_shape(model)
    if shape is None:
        return _PARTS["same_model"].format(note=_NO_MODULE.format(model=escape_name(model.name))) + _PARTS["mean"]
    if shape.huggingface and shape.gated:
        attention = f', attn_implementation="{_choose_attention(shape.flash)}"'
        sizes = shape._asdict()
        inputs = f"torch.randint({shape.vocab}, (samples, {shape.seq}))"
        config = _PARTS["llama"].format(**sizes) + attention
        real = f"LanguageModel(transformers.LlamaForCausalLM(transformers.LlamaConfig({config}))), {inputs}"
        return (
            _PARTS["language_model"] + _PARTS["real_model"].format(library="transformers", real=real) + _PARTS["mean"]
        )
    autocast = None
    if workload.has_wide_weights and workload.dtype != "float32":
        autocast = workload.dtype
    modules = write_decoder(escape_name(model.name), shape, [(0, shape.blocks)], None, workload.recompute, autocast)
    tied = ""
    if shape.tied:
        tied = "    tie(model)\n"
    return modules + _PARTS["decoder_model"].format(tied=tied) + _PARTS["mean"]


def _write_text_model(model: Model) -> str:
    """`make(samples)` of a model of huggingface's, as the layers of `model` say: with or without stored scores,
    dropout, and a head with its loss."""
    family = model.name.split("-")[0]
    names = {layer.name: layer for layer in model.layers}
    scores = next(layer for layer in model.layers if layer.partition == "heads")
    sizes = _PARTS[f"sizes.{model.name}"]
    if not scores.mask_bytes:
        sizes += ", " + _PARTS[f"dropout.{family}"]
    sizes += f', attn_implementation="{_choose_attention(not scores.pointwise)}"'
    config, words, head = f"transformers.{family.upper()}Config({sizes})", 50257, "GPT2LMHeadModel"
    if family == "bert":
        config, words, head = f"transformers.BertConfig({sizes})", 30522, "BertForMaskedLM"
    inputs = f"torch.randint({words}, (samples, {model.tokens}))"
    if "pooler" in names:
        return _PARTS["real_model"].format(library="transformers", real=f"transformers.BertModel({config}), {inputs}")
    real = f"LanguageModel(transformers.{head}({config})), {inputs}"
    return _PARTS["language_model"] + _PARTS["real_model"].format(library="transformers", real=real)


def _choose_attention(flash: bool) -> str:
    """huggingface's name of attention that stores no scores, or does."""
    # Whether scores are stored decides between eager attention and SDPA, which differ in time and memory.
    if flash:
        return "sdpa"
    return "eager"


# ---- what splits -----------------------------------------------------------------------------------------------------


def _write_autocast(workload: Workload) -> str:
    """The context of a forward pass."""
    if not workload.has_wide_weights:
        return "contextlib.nullcontext()"
    return f"torch.autocast(device.type, torch.{workload.dtype})"


def _write_layout(step: ScriptedStep) -> str:
    """Lines that bring the model and its inputs to the type of the weights and to the layout of images."""
    workload, lines = step.workload, ""
    if workload.dtype != "float32" and not workload.has_wide_weights:
        lines += f"model = model.to(torch.{workload.dtype})  # weights, gradients and the optimizer's state\n"
        lines += f"x = x.to(torch.{workload.dtype}) if x.is_floating_point() else x\n"
    has_images = any(layer.kind == "convolution" for layer in workload.model.layers)
    if has_images and step.memory_format == "channels_last":
        lines += "model = model.to(memory_format=torch.channels_last)  # an image's channels lie side by side\n"
        lines += "x = x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x\n"
    return lines


def _write_step(workload: Workload, context: str, after: str = "") -> str:
    """`step()`: all microbatches, what comes after them, the optimizer."""
    last = "pass"
    if workload.optimizer != "none":
        last = "optimizer.step()"
    return (
        "\n\ndef step():\n"
        "    for parameter in model.parameters():\n        parameter.grad = None\n"
        f"    for micro in range({workload.accumulate}):\n"
        f"        with {context}:\n"
        f"            with {_write_autocast(workload)}:\n                out = loss(model(x))\n"
        f"            out.backward()\n{after}    {last}\n"
    )


def _write_ddp_parts(step: ScriptedStep, parallel: DDP) -> tuple[str, str, str]:
    workload = step.workload
    words = "\n".join(f"    {word}," for word in ["model", *_list_ddp_keywords(parallel)])
    wrap = (
        "model, x = make(asked.batch)\nmodel, x = model.to(device), x.to(device)\n"
        + _write_layout(step)
        # torch has no argument for the first bucket alone; its default is a module constant.
        + (f"dist._DEFAULT_FIRST_BUCKET_BYTES = {parallel.first}\n" if parallel.first and not parallel.bucket else "")
        + f"model = torch.nn.parallel.DistributedDataParallel(\n{words}\n)\n"
    )
    if parallel.hook and parallel.overlap:
        wrap += (
            "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n\n"
            + ("if gpu:  # torch takes this hook with NCCL only\n    " if parallel.hook == "bf16" else "")
            + f"model.register_comm_hook(None, default_hooks.{parallel.hook}_compress_hook)\n"
        )
    wrap += step.write_compile("model")
    skip = f"model.no_sync() if micro < {workload.accumulate - 1} else contextlib.nullcontext()"
    context = "contextlib.nullcontext()"
    if workload.accumulate > 1 and parallel.no_sync:
        context = skip
    after = ""
    if not parallel.overlap:  # DDP has no switch for that
        wrap = wrap + _write_manual_allreduces(workload, parallel)
        context = "model.no_sync()"
        after = "    reduce_all()\n"
    first = 'log["bucket_sizes"]'
    sizes = first
    if workload.step_number != 1:
        sizes = f'log.get("rebuilt_bucket_sizes") or {first}'
    report = _PARTS["report"].format(
        sizes=sizes, buckets=", ".join(map(str, parallel.list_bucket_bytes(workload.model, workload.step_number)))
    )
    if not parallel.overlap:  # DDP itself sends nothing, and has nothing to report
        report = "dist.destroy_process_group()\n"
    return wrap, _write_step(workload, context, after), report


def _list_ddp_keywords(parallel: DDP) -> list[str]:
    """Keywords of DistributedDataParallel."""
    words = ["device_ids=[device] if gpu else None"]
    # MiB as a number: short where that is exact, else with all digits, so that the buckets come out equal.
    mebi = [n / 2**20 for n in (parallel.first, parallel.bucket) if n is not None]
    if len(mebi) == 2:
        words.append(f"bucket_cap_mb_list={mebi}")
    elif parallel.bucket is not None:
        words.append(f"bucket_cap_mb={mebi[0]:g}" if mebi[0] == float(f"{mebi[0]:g}") else f"bucket_cap_mb={mebi[0]!r}")
    flags = {
        "gradient_as_bucket_view": parallel.view,
        "find_unused_parameters": parallel.find_unused,
        "static_graph": parallel.static_graph,
    }
    words += [f"{name}=True" for name, on in flags.items() if on]
    if parallel.broadcast_buffers:
        return words
    return [*words, "broadcast_buffers=False"]


def _write_manual_allreduces(workload: Workload, parallel: DDP) -> str:
    """All allreduces after the backward pass, in the same buckets."""
    buckets = "\n".join(
        f"    [\n{format_numbers(bucket)}\n    ],"
        for bucket in parallel.assign_tensors(workload.model, workload.step_number)
    )
    wire = {None: "", "fp16": ".half()", "bf16": ".bfloat16()"}[parallel.hook]
    return (
        f"# Tensors of each bucket: with no_sync DDP sends nothing, so that nothing runs beside the backward pass.\n"
        f"ALL = [\n{buckets}\n]\nparameters = list(model.parameters())\n\n\n"
        "def reduce_all():\n    for bucket in ALL:\n"
        f"        flat = torch.cat([parameters[i].grad.flatten() for i in bucket]).div_(n){wire}\n"
        "        dist.all_reduce(flat)\n"
        "        for i, part in zip(bucket, flat.split([parameters[i].numel() for i in bucket])):\n"
        "            parameters[i].grad.copy_(part.view_as(parameters[i]))\n\n\n"
    )


def _write_data_parallel_parts(step: ScriptedStep) -> tuple[str, str, str]:
    wrap = (
        "model, x = make(asked.batch * n)\n"
        + _write_layout(step)
        + "model = torch.nn.DataParallel(model.to(device))  # a forward pass copies it to all GPUs, by NCCL if it can\n"
        "x = x.to(device)  # on GPU 0; DataParallel scatters it\n" + step.write_compile("model")
    )
    peaks = ", ".join(f"GPU {rank}: {nbytes / 2**30:.2f}" for rank, nbytes in step.memory_by_gpu)
    report = (
        "for i in range(n if gpu else 0):\n"
        '    print(f"GPU {i}: {torch.cuda.max_memory_allocated(i) / 2**30:.2f} GiB at most")\n'
        f'print("collsim, GiB: {peaks}")\n'
    )
    return wrap, _write_step(step.workload, "contextlib.nullcontext()"), report
