"""What eager PyTorch holds beside a step's tensors, by closed form; measured steps are in `test_eager_speed.py`."""

from dataclasses import replace

import pytest

import collsim as cs
from collsim.train import Layer, Model, get_eager_speed
from collsim.train.compute.eager_memory import count_sum_bytes

BOX = cs.machine("dgx-h100")
WORKSPACES = 64 * 2**20
WEIGHTS = 10**8


def build_step(layers=3, dtype="bfloat16", kernels="foreach", optimizer="adam", **options):
    """A step of equal products on one GPU, or on as many as `ranks` says."""
    model = Model("m", tuple(Layer(f"l{i}", (WEIGHTS,), flops=1e9, kind="gemm") for i in range(layers)))
    speed = get_eager_speed("H100", dtype, optimizer_kernels=kernels)
    options = {"parallel": cs.data_parallel(), "ranks": 1, "memory": "1TB", **options}
    return cs.training_step(model, BOX, micro_batch=1, dtype=dtype, optimizer=optimizer, compute=speed, **options)


def find_most_bytes(step, kind):
    _, sizes = step.memory.trace_bytes()
    return sizes[:, step.memory.list_kinds().index(kind)].max()


@pytest.mark.parametrize(("optimizer", "kernels", "states"), [("adam", "foreach", 3), ("adam", "fused", 2)])
def test_foreach_kernels_hold_all_square_roots_of_adamw_at_once(optimizer, kernels, states):
    step = build_step(dtype="float32", optimizer=optimizer, kernels=kernels)
    assert find_most_bytes(step, "optimizer") == states * 3 * 4 * WEIGHTS
    # weights, gradients and states: the optimizer is the fullest moment
    assert step.memory.max() == (2 + states) * 3 * 4 * WEIGHTS + WORKSPACES


def test_an_optimizer_with_one_state_needs_no_square_roots():
    step = build_step(dtype="float32", optimizer="momentum")
    assert find_most_bytes(step, "optimizer") == 3 * 4 * WEIGHTS


def test_copies_of_autocast_last_from_forward_to_backward_pass():
    """Three products: float32 weights all the time; a layer's copy in 16 bits while its gradients, and those of the
    layers behind it, are not all there. The optimizer finds none."""
    step = build_step(optimizer="sgd")
    moments = [3 * 4 + 2 * (i + 1) + 4 * (3 - i) for i in range(3)]
    assert step.memory.max() == max(moments) * WEIGHTS + WORKSPACES
    _, sizes = step.memory.trace_bytes()
    assert sizes[-1, step.memory.list_kinds().index("parameters")] == 3 * 4 * WEIGHTS


def test_attention_in_float32_with_shared_heads_of_keys_stores_its_softmax():
    """4 heads and 512 tokens, 4 bytes a pair, of 2 blocks; with as many heads of keys, and in 16 bits, none."""

    def find_peak(dtype, heads):
        model = cs.train.transformer(
            256, 2, 4, seq=512, vocab=512, kv_heads=heads, flash=True, fused=False, padded=False
        )
        options = {"parallel": cs.data_parallel(), "ranks": 1, "memory": "1TB", "optimizer": "sgd", "compute": "eager"}
        step = cs.training_step(model, BOX, micro_batch=8, dtype=dtype, **options)
        return find_most_bytes(step, "activations")

    keys = 2 * 3 * 2 * 64 * 512 * 8 * 4  # of 2 blocks: 3 heads less of keys and of values, 64 elements each
    assert find_peak("float32", 1) - find_peak("float32", 4) == 2 * 4 * 4 * 512**2 * 8 - keys
    assert find_peak("bfloat16", 1) < find_peak("bfloat16", 4)


def test_weights_in_16_bits_have_no_copies():
    model = build_step().step.model.to("bfloat16")
    speed = get_eager_speed("H100", "bfloat16")
    options = {"dtype": "bfloat16", "optimizer": "sgd", "parallel": cs.data_parallel(), "ranks": 1, "memory": "1TB"}
    step = cs.training_step(model, BOX, micro_batch=1, compute=speed, **options)
    assert find_most_bytes(step, "parameters") == 3 * 2 * WEIGHTS


def test_a_norm_is_not_cast():
    norm = Layer("n", (WEIGHTS,), traffic=1e6, kind="norm")
    speed = get_eager_speed("H100", "bfloat16")
    options = {"dtype": "bfloat16", "optimizer": "sgd", "parallel": cs.data_parallel(), "ranks": 1, "memory": "1TB"}
    step = cs.training_step(Model("m", (norm,)), BOX, micro_batch=1, compute=speed, **options)
    assert find_most_bytes(step, "parameters") == 4 * WEIGHTS


def test_a_tied_head_casts_the_matrix_of_the_embedding():
    """GPT-2 with and without a tied head casts as much."""
    tied = cs.train.transformer(512, 2, 8, seq=256, vocab=50_000, flash=True, fused=False)
    assert not tied.layers[-1].tensors
    options = {"dtype": "bfloat16", "parallel": cs.data_parallel(), "ranks": 1, "micro_batch": 1}
    step = cs.training_step(tied, BOX, compute="eager", **options)
    copies = find_most_bytes(step, "parameters") - 4 * tied.parameters
    products = sum(layer.parameters for layer in tied.layers if layer.kind == "gemm")
    assert copies == 2 * (products + 50_000 * 512)


def test_several_gpus_by_the_catalogue_have_no_workspaces():
    step = build_step(parallel=cs.ddp(), ranks=2, optimizer="sgd")
    assert "workspaces" in step.memory.list_kinds()
    plain = cs.training_step(step.step.model, BOX, parallel=cs.ddp(), ranks=2, micro_batch=1, memory="1TB")
    assert "workspaces" not in plain.memory.list_kinds()


def test_accumulation_casts_again_for_each_microbatch():
    step = build_step(layers=1, optimizer="sgd", parallel=cs.ddp(accumulate=3))
    assert find_most_bytes(step, "parameters") == (4 + 2) * WEIGHTS


def test_a_step_computed_again_in_full_keeps_its_copies_through_each_box():
    model = cs.train.transformer(512, 2, 8, seq=256, vocab=1000, flash=True, fused=False, tied=False)
    options = {"dtype": "bfloat16", "parallel": cs.ddp(), "ranks": 1, "micro_batch": 1, "recompute": "full"}
    step = cs.training_step(model, BOX, compute="eager", **options)
    products = sum(layer.parameters for layer in model.layers if layer.kind == "gemm")
    assert find_most_bytes(step, "parameters") == 4 * model.parameters + 2 * products


def test_fused_kernels_have_no_workspaces():
    plain = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), ranks=1, micro_batch=8, dtype="bfloat16")
    assert "workspaces" not in plain.memory.list_kinds()
    assert find_most_bytes(plain, "parameters") == 6 * cs.model("resnet18").parameters


def test_the_copies_of_a_model_in_data_parallel_have_workspaces_too():
    trace = build_step(ranks=4)
    first, *others = trace.step.resident_bytes
    assert first["workspaces"] == WORKSPACES
    assert all("parameters" not in kinds and kinds["workspaces"] == WORKSPACES for kinds in others)


def test_a_backward_pass_holds_the_gradients_of_a_layers_input_and_output():
    """Two products of a million rows, 64 columns: while the first runs backwards, both its gradients are there."""
    layer = Layer("l0", (64 * 64,), flops=2.0 * 64 * 64 * 10**6, activations=64e6, outputs=64 * 10**6, kind="gemm")
    model = Model("m", (layer, replace(layer, name="l1"))).to("bfloat16")
    options = {"dtype": "bfloat16", "optimizer": "sgd", "parallel": cs.data_parallel(), "ranks": 1, "memory": "1TB"}
    step = cs.training_step(model, BOX, micro_batch=1, compute=get_eager_speed("H100", "bfloat16"), **options)
    kept, gradients, loss = 2 * 128e6, 2 * 128e6, 6 * 64e6  # the loss reads outputs of 16 bits and in float32
    assert find_most_bytes(step, "activations") == kept + max(gradients, loss)
    _, sizes = step.memory.trace_bytes()
    moments = sizes[:, step.memory.list_kinds().index("activations")]
    assert kept + gradients in moments
    assert moments[-1] == 0


@pytest.mark.parametrize(
    ("rows", "columns", "mebibytes"),
    # What decoder blocks on one H100 held beside the tensors that torch lists, less 1 MiB.
    [(2048, 18_432, 135), (2048, 9216, 135), (2048, 6144, 96), (8192, 1792, 112), (4096, 1024, 32), (1024, 2048, 16)],
)
def test_a_bias_takes_partial_sums_of_its_gradient(rows, columns, mebibytes):
    assert count_sum_bytes(rows, columns) == mebibytes * 2**20


@pytest.mark.parametrize(("rows", "columns"), [(1020, 4096), (2048, 3 * 10**5)])
def test_few_rows_or_many_columns_need_no_partial_sums(rows, columns):
    assert count_sum_bytes(rows, columns) == 0


@pytest.mark.parametrize(
    ("model", "parallel"),
    [
        ("gpt2", cs.context(2) * cs.ddp()),
        ("gpt2", cs.pipeline(2, "zbv")),
        ("gpt2", cs.tensor(2, sequence=True) * cs.zero(1)),
        ("mixtral-8x7b", cs.expert(2) * cs.ddp()),
        ("mobilenet_v2", cs.ddp(accumulate=2)),
        ("vit_b_16", cs.data_parallel()),
    ],
)
def test_every_split_of_an_eager_step_ends_as_it_begins(model, parallel):
    """What comes and goes has gone at the end, and never was more than a third above the same step of the catalogue."""
    options = {"parallel": parallel, "ranks": 2, "micro_batch": 2, "batch": 8, "dtype": "bfloat16", "memory": "9000TB"}
    plain = cs.training_step(model, BOX, **options)
    eager = cs.training_step(model, BOX, compute=get_eager_speed("H100", "bfloat16"), **options)
    _, sizes = eager.memory.trace_bytes()
    assert sizes[-1, eager.memory.list_kinds().index("activations")] == pytest.approx(0, abs=1)
    assert plain.memory.max() < eager.memory.max() < 1.35 * plain.memory.max() + 3 * WORKSPACES
