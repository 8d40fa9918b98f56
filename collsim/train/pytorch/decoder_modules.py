"""The modules that a product of ways splits: a decoder of the same sizes, or units that hold the same tensors.

Sources: torch 2.13, torch/distributed/tensor/parallel/style.py and loss.py; the plan of layers is that of torchtitan
(torchtitan/models/llama3/parallelize.py), with queries, keys and values as three matrices, each cut by heads.
"""

from __future__ import annotations

from ...package_data import read_texts
from ..parallel.model_parallel import TensorParallel
from ..workload.decoder_shape import DecoderShape
from .script_parts import format_numbers

_PARTS = read_texts(__file__, "decoder_modules.toml")

_SEQUENCE = """\
    plan |= {"norm1": SequenceParallel(), "norm2": SequenceParallel()}
"""


def write_decoder(
    model: str,
    sizes: DecoderShape,
    stages: list[tuple[int, int]],
    tensor: TensorParallel | None,
    again: str,
    autocast: str | None = None,
) -> str:
    """Write the modules of a decoder.

    Args:
        model: Name of the model.
        sizes: Its sizes.
        stages: First block and the one behind the last, of each stage.
        tensor: Tensor parallelism; None where layers are not shared.
        again: What is computed a second time: none, selective, alternate or full.
        autocast: Type of torch.autocast where that rules: it would leave embeddings, norms and their sums in 32 bits,
            and send them so.

    Returns:
        The text of the modules.
    """
    t = 1
    if tensor is not None:
        t = tensor.size
    sequence = tensor is not None and tensor.sequence and t > 1
    words = -(-sizes.vocab // t) * t
    values = sizes._asdict()
    header = _PARTS["sizes"].format(model=model, words=words, stages=_format_ranges(stages), **values)
    core = "attend(q, k, v)"
    if again == "selective":
        core = "checkpoint(attend, q, k, v, use_reentrant=False)"
    gate, active = "", "F.gelu(self.up(x))"
    if sizes.gated:
        gate = f"        self.gate = nn.Linear(H, FFN, bias={sizes.bias})\n"
        active = "F.silu(self.gate(x)) * self.up(x)"
    norm = "RMSNorm"
    if sizes.bias:
        norm = "LayerNorm"
    positions = f"        self.positions = nn.Embedding({sizes.positions}, H) if first else None\n"
    stage = {"cast": "", "narrow": "", "positions": "", "places": "", "blocks": _write_blocks(again), "norm": norm}
    if autocast is not None:
        stage |= {"cast": ".to(x.dtype)", "narrow": f"            x = x.to(torch.{autocast})\n"}
    if sizes.positions:
        stage |= {"positions": positions, "places": _write_positions(t, sequence)}
    text = header
    text += _PARTS["flash"] if sizes.flash else _PARTS["scores"]
    text += _PARTS["block"].format(
        bias=sizes.bias, attend=core, gate=gate, active=active, norm=norm, cast=stage["cast"]
    )
    text += _PARTS["stage"].format(**stage)
    if sizes.tied:
        text += _PARTS["tied"]
    if t > 1:
        text += _write_tensor_plan(sizes, sequence, again)
    return text


def _write_blocks(again: str) -> str:
    """All blocks of a stage; some are computed again."""
    if again == "alternate":
        block_line = f"            {_wrap_recomputed('Block()', again)} for i in range(*STAGES[number])"
        return f"\n{block_line}\n        "
    return f"{_wrap_recomputed('Block()', again)} for _ in range(*STAGES[number])"


def _write_positions(t: int, sequence: bool) -> str:
    """The vectors of positions, of the part of the sequence that a GPU has."""
    part = ""
    if sequence:
        part = f'.chunk({t})[mesh.get_local_rank("tp")]'
    return f"            x = x + self.positions(torch.arange(TOKENS, device=device){part})\n"


def _write_tensor_plan(sizes: DecoderShape, sequence: bool, again: str) -> str:
    """How tensor parallelism cuts the layers. A plan names the modules of a block, and checkpoint_wrapper hides them:
    what a plan does not find torch warns of and leaves whole."""
    values = {"out": "", "more": "", "wide": '"up",', "inside": "block"}
    values |= {"joined": "an allreduce adds up", "whole": "Replicate()", "comma": "", "taken": "", "sequence": ""}
    if sequence:
        out, more = "output_layouts=Shard(1)", '        "norm": SequenceParallel(),\n'
        if sizes.positions:
            more += '        "positions": SequenceParallel(sequence_dim=0, use_local_output=True),\n'
        values |= {
            "out": out,
            "more": more,
            "joined": "sums are reduce-scattered along the sequence",
            "whole": "Shard(1)",
            "comma": f", {out}",
            "taken": "input_layouts=Shard(1), ",
            "sequence": _SEQUENCE,
        }
    if sizes.gated:
        values["wide"] = '"gate", "up"'
    if again in ("full", "alternate"):
        values["inside"] = 'getattr(block, "_checkpoint_wrapped_module", block)'
    return _PARTS["tensor"].format(**values)


def write_units(
    model: str, tensors: list[tuple[tuple[int, ...], bool]], stages: list[tuple[int, int]], again: str
) -> str:
    """Write modules that hold the same tensors as the units of a model.

    Args:
        model: Name of the model.
        tensors: Elements of the tensors of each unit, and whether it is a block.
        stages: First unit and the one behind the last, of each stage.
        again: What is computed a second time: none, alternate or full.

    Returns:
        The text of the modules.
    """
    units = "\n".join(
        f"    {list(sizes)}," if len(sizes) < 10 else f"    [\n{format_numbers(sizes)}\n    ]," for sizes, _ in tensors
    )
    blocks = {i for i, (_, block) in enumerate(tensors) if block}
    unit_text = _wrap_recomputed("Unit(UNITS[i])", again, "i in BLOCKS")
    return _PARTS["units"].format(
        model=model, units=units, blocks=blocks or "()", stages=_format_ranges(stages), block=unit_text
    )


def _wrap_recomputed(block: str, again: str, when: str = "") -> str:
    """A block that is computed a second time: every one, or every second; `when` says which units are blocks."""
    if again not in ("full", "alternate"):
        return block
    which = " and ".join(filter(None, [when, "i % 2 == 0" if again == "alternate" else ""]))
    if which:
        return f"checkpoint_wrapper({block}) if {which} else {block}"
    return f"checkpoint_wrapper({block})"


def _format_ranges(stages: list[tuple[int, int]]) -> str:
    """Ranges, a few on a line."""
    line = ", ".join(map(str, stages))
    if len(line) < 100:
        return f"[{line}]"
    rows = [", ".join(map(str, stages[i : i + 8])) for i in range(0, len(stages), 8)]
    return "[\n    " + ",\n    ".join(rows) + ",\n]"
