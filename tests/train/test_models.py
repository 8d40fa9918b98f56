"""Models are tables of layers: parameters and tensors as torch registers them, FLOPs and activations as papers count
them."""

import json
from pathlib import Path

import pytest

import collsim as cs
from collsim.train import Layer, Model, count_activation_bytes, count_first_stage_bytes, count_state_bytes

TORCH = Path(__file__).parent / "torch"
GRAD_ORDER = json.loads((TORCH / "grad_order.json").read_text())


@pytest.mark.parametrize("name", GRAD_ORDER)
def test_gradients_become_ready_in_the_order_that_torch_saw(name):
    model = cs.model(name)
    assert [model.tensors[i][0] for i in model.gradient_order] == GRAD_ORDER[name]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet18", 11_689_512),  # torchvision's documentation, and so on
        ("resnet34", 21_797_672),
        ("resnet50", 25_557_032),
        ("resnet101", 44_549_160),
        ("resnet152", 60_192_808),
        ("resnext50_32x4d", 25_028_904),
        ("resnext101_32x8d", 88_791_336),
        ("vgg11", 132_863_336),
        ("vgg13", 133_047_848),
        ("vgg16", 138_357_544),
        ("vgg19", 143_667_240),
        ("mobilenet_v2", 3_504_872),
        ("vit_b_16", 86_567_656),
        ("vit_b_32", 88_224_232),
        ("vit_l_16", 304_326_632),
        ("vit_l_32", 306_535_400),
        ("vit_h_14", 632_045_800),
        ("bert-base", 109_482_240),
        ("bert-large", 335_141_888),
        ("gpt2", 124_439_808),
        ("gpt2-xl", 1_557_611_200),
        ("llama2-7b", 6_738_415_616),
        ("mistral-7b", 7_241_732_096),  # huggingface's count, and so is the next
        ("mixtral-8x7b", 46_702_792_704),
        ("llama3-8b", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
        ("llama3-405b", 405_853_388_800),
        ("deepseek-v3", 671_026_404_352),  # huggingface's count without the block of the second token
        # less 256 elements a block of norms of queries and keys
        ("qwen3-30b-a3b", 30_532_122_624 - 48 * 256),
        ("qwen3-235b-a22b", 235_093_634_560 - 94 * 256),
    ],
)
def test_models_have_the_published_number_of_parameters(name, parameters):
    assert cs.model(name).parameters == parameters


@pytest.mark.parametrize(
    ("name", "blocks", "experts", "published"),
    [("gpt-oss-20b", 24, 32, 20.91e9), ("gpt-oss-120b", 36, 128, 116.83e9)],
)
def test_gpt_oss_has_the_published_parameters_but_for_the_vectors_next_to_matrices(name, blocks, experts, published):
    """OpenAI 2025, table 1. An expert's are 3 · 2,880 elements; a block's others 2 · 2,880 + 4,096 + 2 · 512 at most."""
    vectors = blocks * (experts * 3 * 2880 + 2 * 2880 + 4096 + 2 * 512)
    assert cs.model(name).parameters + vectors == pytest.approx(published, rel=3e-4)


@pytest.mark.parametrize(
    ("name", "active"),
    # what a token goes through, as published: DeepSeek-AI 2024, abstract; Qwen team 2025, table 2; OpenAI 2025, table 1;
    # Kimi team 2025, abstract
    [
        ("deepseek-v3", 37e9),
        ("qwen3-235b-a22b", 22e9),
        ("gpt-oss-120b", 5.13e9),
        ("gpt-oss-20b", 3.61e9),
        ("kimi-k2", 32e9),
    ],
)
def test_a_token_goes_through_as_many_parameters_of_a_mixture_as_published(name, active):
    model = cs.model(name)
    matrices = sum(layer.flops for layer in model.layers if layer.kind in ("gemm", "moe"))
    assert matrices / (2 * model.tokens) == pytest.approx(active, rel=0.02)


def count_accesses(torch, function, *inputs):
    """Elements of 16 bits that the kernels of a function read and write in a forward and in a backward pass, of each
    element of the first input, as torch runs them on tensors without memory."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Bytes(TorchDispatchMode):
        def __torch_dispatch__(self, called, types, args=(), kwargs=None):
            out = called(*args, **(kwargs or {}))
            if not called.is_view and "detach" not in str(called):
                tensors = [part for part in tree_leaves((args, out)) if isinstance(part, torch.Tensor)]
                counts[-1] += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            return out

    counts = [0]
    with Bytes():
        out = function(*inputs)
    gradient = torch.zeros_like(out)
    counts.append(0)
    with Bytes():
        out.backward(gradient)
    return [nbytes / (2 * inputs[0].numel()) for nbytes in counts]


def test_gpt_oss_reads_and_writes_beside_its_products_what_megatrons_lines_do():
    """The lines of Megatron-LM's core_v0.16.0 (`_apply_bias`, `weighted_bias_quick_geglu_impl` up to its compiled kernel,
    `_apply_rotary_pos_emb_bshd`). Compiled kernels read and write 3 elements forward, and 5 and 3 backward."""
    torch = pytest.importorskip("torch")

    def make(*shape, dtype=torch.bfloat16):
        return torch.zeros(shape, dtype=dtype, device="meta", requires_grad=True)

    def apply_bias(tokens, bias, probabilities):
        parts = (part.split(4096) for part in (tokens, probabilities))
        return torch.cat([t + b * p for t, b, p in zip(*parts, bias, strict=True)]).to(tokens.dtype)

    def clamp(both):
        gate, up = both.chunk(2, -1)
        return torch.cat((gate.clamp(max=7.0), up.clamp(min=-7.0, max=7.0)), -1)

    def rotate(heads, cosine, sine):
        first, second = heads.chunk(2, -1)
        turned = (heads * cosine) + (torch.cat((-second, first), -1) * sine)
        return torch.cat((turned, heads[..., 64:]), -1)

    table = torch.zeros(4096, 1, 64, dtype=torch.bfloat16, device="meta")
    biased = count_accesses(
        torch, apply_bias, make(8192, 256), [make(256), make(256)], make(8192, 1, dtype=torch.float32)
    )
    assert biased == pytest.approx([14, 20], rel=0.01)
    forward, backward = (2 * accesses for accesses in count_accesses(torch, clamp, make(8192, 512)))
    assert [forward + 3, backward + 8] == pytest.approx([11, 23], rel=0.01)
    rotated = count_accesses(torch, rotate, make(4096, 64, 64), table, table)
    layers = {layer.name: layer for layer in cs.model("gpt-oss-120b").layers}
    plain = cs.train.transformer(2880, 1, 64, head_dim=64, kv_heads=8, seq=4096, bias=False, flash=True)
    more = layers["h.0.attention.qkv"].traffic - plain.layers[2].traffic
    assert 3 * more / (4096 * 72 * 64) == pytest.approx(sum(rotated), rel=0.02)


def test_a_window_of_attention_has_the_scores_of_a_triangle_twice_as_wide():
    """Of 1,024 tokens each sees 128 before it: 1,024 · 128 scores, as a triangle of 1,024 · 256 has half of its own;
    every second block sees all."""
    blocks = [x for x in cs.train.transformer(64, 2, 4, seq=1024, flash=True, window=128).layers if x.kind == "flash"]
    assert [layer.flops for layer in blocks] == [4 * 1024 * 256 * 64, 4 * 1024 * 1024 * 64]


def test_the_second_token_of_deepseek_adds_one_block_a_join_and_the_head_again():
    one, two = (cs.model("deepseek-v3", second=more) for more in (False, True))
    h, head = 7168, one.layers[-1].flops
    block = sum(x.flops for x in one.layers if x.name.startswith("h.60."))
    assert two.flops - one.flops == pytest.approx(block + head + 2 * 4096 * 2 * h * h)


@pytest.mark.parametrize(
    ("name", "giga"),
    # multiply-adds as fvcore counts them (torchvision's documentation: GFLOPS of the weights' tables)
    [
        ("resnet50", 4.09),
        ("resnet101", 7.80),
        ("vgg16", 15.47),
        ("resnext50_32x4d", 4.23),
        ("resnext101_32x8d", 16.41),
        ("mobilenet_v2", 0.30),
        ("vit_b_16", 17.56),
        ("vit_l_32", 15.38),
        ("vit_h_14", 167.29),
    ],
)
def test_convolutional_networks_have_the_published_multiply_adds(name, giga):
    assert cs.model(name).flops / 2e9 == pytest.approx(giga, abs=0.011)


def test_a_step_with_full_recompute_has_the_flops_of_the_formula_of_narayanan():
    """96·B·s·L·h²·(1 + s/6h + V/16Lh); the row of 1T parameters: 5.139051e19. Blocks are passed through four times, the
    head three."""
    h, layers, heads, seq, vocab, batch = 25600, 128, 160, 2048, 51200, 3072
    model = cs.train.transformer(h, layers, heads, seq=seq, vocab=vocab)
    head = model.layers[-1].flops
    counted = batch * (4 * (model.flops - head) + 3 * head)
    assert counted == pytest.approx(
        96 * batch * seq * layers * h**2 * (1 + seq / (6 * h) + vocab / (16 * layers * h)), rel=1e-12
    )
    assert counted == pytest.approx(5.139051e19, rel=1e-6)


def test_a_block_keeps_what_korthikanti_says():
    """sbh(34 + 5as/h) bytes in 16 bits."""
    h, heads, seq, batch = 768, 12, 1024, 3
    formula = seq * batch * h * (34 + 5 * heads * seq / h)
    assert count_activation_bytes(h, heads, seq, batch) == formula
    for model in (cs.train.transformer(h, 12, heads, seq=seq), cs.model("bert-base", seq=seq, flash=False)):
        ours = sum(
            batch * (x.count_activation_bytes(2) + x.mask_bytes)
            for x in model.to("bfloat16").layers
            if x.name.startswith(("h.0.", "encoder.layer.0."))
        )
        assert ours == formula, model.name


def test_activations_of_tensor_and_sequence_parallelism():
    h, heads, seq, b, t = 12288, 96, 2048, 1, 8
    size, scores = seq * b * h, 5 * heads * seq / h
    assert count_activation_bytes(h, heads, seq, b, tensor=t) == size * (10 + 24 / t + 5 * heads * seq / (h * t))
    assert count_activation_bytes(h, heads, seq, b, tensor=t, sequence=True) == size * (34 + scores) / t
    assert count_activation_bytes(h, heads, seq, b, tensor=t, sequence=True, recompute="selective") == 34 * size / t
    assert count_activation_bytes(h, heads, seq, b, tensor=t, recompute="full") == 2 * size


@pytest.mark.parametrize(
    ("h", "layers", "heads", "batch", "pipeline", "interleave", "gib"),
    [
        (6144, 48, 64, 4, 1, 1, 59.25),
        (12288, 96, 96, 1, 8, 3, 66.84375),
        (20480, 105, 128, 1, 35, 3, 114.0234375),
        (25600, 128, 160, 1, 64, 1, 131.25),
    ],
)
def test_the_first_stage_holds_what_figure_1_of_korthikanti_shows(h, layers, heads, batch, pipeline, interleave, gib):
    held = count_first_stage_bytes(h, layers, heads, 2048, batch, pipeline=pipeline, interleave=interleave, tensor=8)
    assert held / 2**30 == gib


def test_weights_and_adam_take_18_bytes_a_parameter_and_6_plus_12_over_dp_when_sharded():
    assert count_state_bytes(1000) == 18_000
    assert count_state_bytes(1000, shards=4) == 1000 * (6 + 12 / 4)
    assert count_state_bytes(1000, "float32") == 16_000


def test_grouped_query_attention_and_gates_change_only_their_own_matrices():
    plain = cs.train.transformer(64, 2, 8, seq=16, vocab=100, bias=False)
    gated = cs.train.transformer(64, 2, 8, seq=16, vocab=100, bias=False, gated=True, kv_heads=2)
    # a third matrix of h·4h; keys and values of 2 heads of 8 instead of 8
    assert gated.parameters - plain.parameters == 2 * (64 * 256 - 2 * 64 * (64 - 16))


def test_a_table_becomes_a_model_and_comes_back(tmp_path):
    model = cs.model("resnet18")
    path = tmp_path / "resnet18.csv"
    frame = model.to_frame().drop(columns=["parameters", "bytes"])
    for column in ("tensors", "buffers"):
        frame[column] = [" ".join(map(str, row)) for row in frame[column]]
    frame.to_csv(path, index=False)
    back = cs.train.Model.from_csv(path, input_bytes=model.input_bytes, source=model.source)
    assert back == model


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "columns none"),
        ("name,speed\na,1\n", "columns name, speed"),
        ("name,tensors\na,-3\n", "line 2.*-3"),
        ("name,tensors\na,3\nb,x\n", "line 3"),
        ("name,flops\na,nan\n", "line 2.*flops"),
        ("name,flops\na\n", "line 2"),
        ("name,flops\na,1,2\n", "line 2"),
        ("name\na\na\n", "two layers named 'a'"),
        ("name,kind\na,magic\n", "line 2.*magic"),
        ("name\n", "at least one Layer"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(cs.FormatError, match=said):
        cs.train.Model.from_csv(path)


@pytest.mark.parametrize(
    "figures",
    [
        {"flops": -1.0},
        {"tensors": (-5,)},
        {"activations": float("nan")},
        {"tensors": (2.5,)},
        {"ops": -1},
        {"kind": "x"},
        {"dtype": "float12"},
    ],
)
def test_a_layer_of_impossible_size_gets_a_sentence(figures):
    with pytest.raises(cs.CollsimError):
        Layer("a", **figures)


def test_unknown_models_and_options_name_the_nearest():
    with pytest.raises(cs.CollsimError, match="did you mean 'resnet50'"):
        cs.model("resnet5")
    with pytest.raises(cs.CollsimError, match="option of model gpt2"):
        cs.model("gpt2", sequence=3)
    with pytest.raises(cs.CollsimError, match="multiple of heads"):
        cs.train.transformer(100, 1, 7)


def test_every_model_of_the_catalogue_has_a_source_and_can_be_made():
    for name in cs.models():
        model = cs.model(name)
        assert model.source, name
        assert model.parameters > 1e6, name


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.train.transformer(64, 10**9, 4), "100,000 is the most"),
        (lambda: cs.train.transformer(64, 2, 4, flash="no"), "flash='no' must be True or False"),
        (lambda: cs.train.count_activation_bytes(64, 4, 32, tensor=0), "tensor=0 is too small"),
        (lambda: cs.train.count_activation_bytes(64, 4, -1), "seq=-1 is too small"),
        (lambda: cs.train.count_first_stage_bytes(64, 4, 4, 32, pipeline=0), "pipeline=0 is too small"),
    ],
)
def test_numbers_of_a_transformer_that_cannot_be_are_a_sentence(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,tensors\n,5\n", "line 2: a layer's name must be a text"),
        ("name,tensors\n\n\na,5x\n", "line 4: tensors='5x' is not a whole number"),
        ("name,flops\na,5x\n", "line 2: flops='5x' is no number"),
        ("name,ops\na,1.5\n", "line 2: ops='1.5' is not a whole number"),
        ("name,ops,ops\na,1,2\n", "line 1: has 2 columns named 'ops'"),
        ('name,ops\na,1\n"b,2\n', "line 3: is no CSV"),
    ],
)
def test_a_table_of_layers_names_the_line_and_the_column(text, says, tmp_path):
    (tmp_path / "layers.csv").write_text(text)
    with pytest.raises(cs.FormatError, match=says):
        cs.train.Model.from_csv(tmp_path / "layers.csv")


def test_a_name_may_have_what_ends_a_line_in_other_tools(tmp_path):
    (tmp_path / "layers.csv").write_text('name,tensors\n"a\u2028b",5\n"c\nd",6\n', encoding="utf-8")
    model = cs.train.Model.from_csv(tmp_path / "layers.csv")
    assert [layer.name for layer in model.layers] == ["a\u2028b", "c\nd"]


@pytest.mark.parametrize("facts", [{"tokens": -1}, {"tokens": "x"}, {"input_bytes": 1.5}])
def test_facts_of_a_model_are_whole_numbers(facts):
    with pytest.raises(cs.CollsimError, match=next(iter(facts))):
        cs.train.Model("m", (Layer("a", (5,)),), **facts)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"layers": 5}, "needs at least one Layer"),
        ({"layers": "abc"}, "needs at least one Layer"),
        ({"name": None}, "model's name must be a text"),
        ({"name": ""}, "model's name must be a text"),
        ({"tokens": -1}, "tokens=-1 is too small"),
        ({"tokens": 1.5}, "tokens=1.5 is not a whole number"),
        ({"input_bytes": "x"}, "not a whole number"),
    ],
)
def test_a_model_that_cannot_be_is_a_sentence(facts, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.train.Model(**{"name": "x", "layers": cs.model("resnet18").layers, **facts})


def test_a_model_says_whether_it_has_blocks_and_partitions():
    """By its layers, whatever it is called."""
    block = [Layer("a.0.up", (8,), partition="column"), Layer("a.0.down", (8,), partition="row")]
    plain = [Layer("conv1", (8,)), Layer("fc", (8,))]
    assert [layer.block for layer in (*block, *plain)] == ["a.0", "a.0", "", ""]
    assert (Model("gpt-like", tuple(plain)).has_blocks, Model("gpt-like", tuple(plain)).has_partitions) == (
        False,
        False,
    )
    assert (Model("new", tuple(block)).has_blocks, Model("new", tuple(block)).has_partitions) == (True, True)
    assert not cs.model("resnet50").has_partitions
    assert cs.model("kimi-k2").has_partitions
