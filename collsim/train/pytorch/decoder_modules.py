"""The modules that a product of ways splits: a decoder of the same sizes, or units that hold the same tensors.

Sources: torch 2.13, torch/distributed/tensor/parallel/style.py and loss.py; the plan of layers is that of torchtitan
(torchtitan/models/llama3/parallelize.py), with queries, keys and values as three matrices, each cut by heads.
"""

from __future__ import annotations

from ..parallel import TensorParallel
from ..workload.decoder_shape import DecoderShape
from .script_parts import format_numbers

_SIZES = """
# The sizes of {model}, and which of its blocks each stage has.
H, HEADS, KEYS, HEAD, FFN, WORDS, TOKENS = {h}, {heads}, {kv_heads}, {head_dim}, {ffn}, {words}, {seq}
STAGES = {stages}
"""
_FLASH = """

def attend(q, k, v):  # one kernel, which stores no scores
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=HEADS != KEYS)
"""
_SCORES = """

def attend(q, k, v):  # scores are stored
    k, v = (part.repeat_interleave(HEADS // KEYS, 1) for part in (k, v))
    seen = torch.ones(TOKENS, TOKENS, dtype=torch.bool, device=q.device).tril()
    return (q @ k.transpose(-2, -1) / HEAD**0.5).masked_fill(~seen, float("-inf")).softmax(-1) @ v
"""
_BLOCK = """

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(H, HEADS * HEAD, bias={bias})
        self.k = nn.Linear(H, KEYS * HEAD, bias={bias})
        self.v = nn.Linear(H, KEYS * HEAD, bias={bias})
        self.out = nn.Linear(HEADS * HEAD, H, bias={bias})

    def forward(self, x):  # with tensor parallelism each GPU has some of the heads
        q, k, v = (part(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for part in (self.q, self.k, self.v))
        return self.out({attend}.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
{gate}        self.up = nn.Linear(H, FFN, bias={bias})
        self.down = nn.Linear(FFN, H, bias={bias})

    def forward(self, x):
        return self.down({active})


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.{norm}(H), Attention()
        self.norm2, self.mlp = nn.{norm}(H), MLP()

    def forward(self, x):
        x = x + self.attention(self.norm1(x){cast})
        return x + self.mlp(self.norm2(x){cast})
"""
_STAGE = """

class Stage(nn.Module):  # blocks, with what is before them on the first stage and behind them on the last
    def __init__(self, number):
        super().__init__()
        first, last = number == 0, number == len(STAGES) - 1
        self.embedding = nn.Embedding(WORDS, H) if first else None
{positions}        self.blocks = nn.ModuleList({blocks})
        self.norm = nn.{norm}(H) if last else None
        self.head = nn.Linear(H, WORDS, bias=False) if last else None

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
{places}{narrow}        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(self.norm(x){cast})


def loss(out, target):
    return F.cross_entropy(out.flatten(0, 1).float(), target.flatten())


def data(samples):
    return (torch.randint(WORDS, (samples, TOKENS), device=device) for _ in "xy")
"""
_TIED = """

def tie(stage):  # the head uses the embedding's matrix
    if stage.embedding is not None and stage.head is not None:
        stage.head.weight = stage.embedding.weight
"""
_TENSOR = """

def cut(stage):  # matrices by columns, then by rows, behind which {joined}
    whole = PrepareModuleInput(input_layouts=({whole},), desired_input_layouts=(Replicate(),))
    plan = {{
        "attention": whole,
        **{{f"attention.{{name}}": ColwiseParallel() for name in ("q", "k", "v")}},
        "attention.out": RowwiseParallel({out}),
        "mlp": whole,
        **{{f"mlp.{{name}}": ColwiseParallel() for name in ({wide})}},
        "mlp.down": RowwiseParallel({out}),
    }}
{sequence}    for block in stage.blocks:
        parallelize_module({inside}, mesh["tp"], plan)
    ends = {{
        "embedding": RowwiseParallel(input_layouts=Replicate(){comma}),
        # words stay apart for loss_parallel
        "head": ColwiseParallel({taken}output_layouts=Shard(-1), use_local_output=False),
{more}    }}
    parallelize_module(stage, mesh["tp"], {{k: v for k, v in ends.items() if getattr(stage, k) is not None}})
"""
_SEQUENCE = """\
    plan |= {"norm1": SequenceParallel(), "norm2": SequenceParallel()}
"""
_UNITS = '''
# Elements of each parameter tensor, unit by unit, and which units each stage has.
UNITS = [
{units}
]
BLOCKS = {blocks}  # units that are blocks; the others are the root
STAGES = {stages}


class Unit(nn.Module):
    """The parameter tensors of one unit of {model}: the same bytes, little to compute."""

    def __init__(self, sizes):
        super().__init__()
        self.tensors = nn.ParameterList([torch.empty(size) for size in sizes])

    def forward(self, x):
        for tensor in self.tensors:
            x = x + x * tensor.mean()
        return x


class Stage(nn.Module):
    def __init__(self, number):
        super().__init__()
        units = range(*STAGES[number])
        self.units = nn.Sequential(*({block} for i in units))
        self.blocks = [unit for i, unit in zip(units, self.units) if i in BLOCKS]

    def forward(self, x):
        return self.units(x)


def loss(out, target):
    return (out - target).float().pow(2).mean()


def data(samples):
    return (torch.ones(samples, 1, device=device) for _ in "xy")


if rank == 0:
    print("units with the tensors of {model}: they send what the step sends, its time is not theirs")
'''


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
    header = _SIZES.format(model=model, words=words, stages=_format_ranges(stages), **values)
    once = "attend(q, k, v)"
    core = "checkpoint(attend, q, k, v, use_reentrant=False)"
    if again != "selective":
        core = once
    gate = ""
    if sizes.gated:
        gate = f"        self.gate = nn.Linear(H, FFN, bias={sizes.bias})\n"
    active = "F.gelu(self.up(x))"
    if sizes.gated:
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
    text += _FLASH if sizes.flash else _SCORES
    text += _BLOCK.format(bias=sizes.bias, attend=core, gate=gate, active=active, norm=norm, cast=stage["cast"])
    text += _STAGE.format(**stage)
    if sizes.tied:
        text += _TIED
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
    out = ""
    if sequence:
        out = "output_layouts=Shard(1)"
    more = ""
    if sequence:
        more = '        "norm": SequenceParallel(),\n'
    if sequence and sizes.positions:
        more += '        "positions": SequenceParallel(sequence_dim=0, use_local_output=True),\n'
    values = {"out": out, "more": more, "wide": '"up",', "inside": "block"}
    values |= {"joined": "an allreduce adds up", "whole": "Replicate()", "comma": "", "taken": "", "sequence": ""}
    if sequence:
        values |= {
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
    return _TENSOR.format(**values)


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
    return _UNITS.format(
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
