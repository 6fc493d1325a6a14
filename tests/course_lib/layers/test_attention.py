"""Is attention the same function as PyTorch's, and does it have the properties it must have?

Dimensions: BATCH, HEADS, QUERIES, KEYS, WIDTH all differ, so that no mix-up of two goes unseen.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.layers.attention import (
    CachedAttention,
    GroupedQueryAttention,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from course_lib.layers.kv_cache import FixedCache, GrowingCache
from course_lib.layers.masks import CausalMask, causal_mask, padding_mask
from course_lib.layers.positional import RotaryPositions
from tests.course_lib.parity import (
    assert_as_exact_as,
    assert_equal_in_float64,
    assert_parity,
    output_and_gradients,
    randomise,
)
from tests.course_lib.weights import copy_torch_attention
from tests.daily import with_proofs

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 4, 5, 6, 7
D_MODEL = 12  # HEADS heads of 4
PAD = 0
TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, PAD, PAD]])


def masks_for(query_len: int) -> dict[str, Tensor | None]:
    """Return a mask of each kind, by its name, for this number of queries and KEYS keys."""
    padding, causal = padding_mask(TOKEN_IDS, PAD), causal_mask(query_len, KEYS)
    generator = torch.Generator().manual_seed(1)
    for_each_head = torch.rand(BATCH, HEADS, query_len, KEYS, generator=generator) > 0.4
    return {
        "none": None,
        "padding": padding,
        "causal": causal,
        "padding and causal": padding & causal,
        "a mask for each head": for_each_head | torch.eye(query_len, KEYS, dtype=torch.bool),
    }


MASKS = masks_for(QUERIES)
with_each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
in_both_dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
by_kernel_and_formula = pytest.mark.parametrize("return_weights", [False, True])


def draw(*shapes, dtype=torch.float64) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    )


def draw_heads(dtype=torch.float64) -> tuple[Tensor, ...]:
    """Return a query, a key and a value, split into heads."""
    shapes = (QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUE_WIDTH)
    return draw(*((BATCH, HEADS, *shape) for shape in shapes), dtype=dtype)


def output_of(result: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


# --- scaled_dot_product_attention ----------------------------------------------------------------


@by_kernel_and_formula
@in_both_dtypes
@with_each_mask
def test_equals_torch_forward_and_backward(mask, dtype, return_weights):
    def ours(dtype):
        inputs = draw_heads(dtype)
        result = scaled_dot_product_attention(*inputs, mask, return_weights=return_weights)
        return output_and_gradients(output_of(result), inputs)

    def theirs(dtype):
        inputs = draw_heads(dtype)
        output = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
        return output_and_gradients(output, inputs)

    assert_parity(ours, theirs, dtype)


@by_kernel_and_formula
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_as_exact_as_torch(dtype, return_weights):
    inputs, mask = draw_heads(dtype), MASKS["padding and causal"]
    exact = F.scaled_dot_product_attention(*[x.double() for x in inputs], attn_mask=mask)
    reference = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    actual = output_of(scaled_dot_product_attention(*inputs, mask, return_weights=return_weights))
    assert_as_exact_as([reference], [actual], [exact])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_formula_holds_scores_that_float16_does_not(dtype):
    query = torch.full((1, 1, 2, 64), 200.0, dtype=dtype)  # scores of 320,000
    (value,) = draw((1, 1, 2, 64), dtype=dtype)
    output, weights = scaled_dot_product_attention(query, query, value, return_weights=True)
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    torch.testing.assert_close(output, scaled_dot_product_attention(query, query, value))
    torch.testing.assert_close(weights, torch.full_like(weights, 0.5))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@by_kernel_and_formula
@with_each_mask
def test_runs_on_the_gpu_as_on_the_cpu(mask, return_weights):
    inputs = draw_heads(torch.float32)
    exact = scaled_dot_product_attention(*[x.double() for x in inputs], mask)
    on_gpu = [x.detach().cuda() for x in inputs]
    gpu_mask = None if mask is None else mask.cuda()
    output = output_of(
        scaled_dot_product_attention(*on_gpu, gpu_mask, return_weights=return_weights)
    )
    assert output.is_cuda
    torch.testing.assert_close(output.cpu().double(), exact, rtol=1e-4, atol=1e-5)


@by_kernel_and_formula
def test_leading_dimensions_may_be_left_out(return_weights):
    inputs, mask = draw_heads(), MASKS["causal"]
    whole = scaled_dot_product_attention(*inputs, mask)
    for lead in [(0, 0), (1,), ()]:
        part = scaled_dot_product_attention(
            *(x[lead] for x in inputs), mask[0, 0], return_weights=return_weights
        )
        torch.testing.assert_close(output_of(part), whole[lead])


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@by_kernel_and_formula
def test_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(return_weights):
    inputs = draw_heads()
    mask = MASKS["a mask for each head"].clone()
    mask[0, :, 1] = False
    mask[1, 2] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        result = scaled_dot_product_attention(*inputs, mask, return_weights=return_weights)
        output, query_grad, key_grad, value_grad = output_and_gradients(output_of(result), inputs)
    for zeros in (output, query_grad, *(result[1:] if return_weights else ())):
        assert (zeros[0, :, 1] == 0).all()
        assert (zeros[1, 2] == 0).all()
    assert (output[0, :, 0] != 0).all()
    for gradient in (query_grad, key_grad, value_grad):
        assert gradient.isfinite().all()
    assert (key_grad[1, 2] == 0).all()
    assert (value_grad[1, 2] == 0).all()


def test_gradients_of_the_weights_are_right():
    def weights(q, k, v):
        return scaled_dot_product_attention(q, k, v, MASKS["causal"], return_weights=True)[1]

    assert torch.autograd.gradcheck(weights, draw_heads())


@by_kernel_and_formula
def test_keeps_inputs(return_weights):
    inputs = (*draw_heads(), MASKS["padding"])
    before = [x.detach().clone() for x in inputs]
    scaled_dot_product_attention(*inputs, return_weights=return_weights)
    assert all(map(torch.equal, inputs, before))


def ones(*shape, dtype=torch.bool):
    return torch.ones(shape, dtype=dtype)


@by_kernel_and_formula
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda q, k, v: (q, k, v, ones(QUERIES, KEYS, dtype=torch.uint8)), TypeError,
         r"mask must be boolean .* got torch.uint8"),
        (lambda q, k, v: (q, k[..., :5], v), ValueError, "agree in head_dim, got 6 and 5"),
        (lambda q, k, v: (q, k, v[..., :4, :]), ValueError, "agree in key_len, got 5 and 4"),
        (lambda q, k, v: (q[:1], k[:1], v[:1], ones(5, 1, 1, KEYS)), ValueError,
         r"mask must have shape \(1, 3, 4, 5\)"),
        (lambda q, k, v: (q, k, v, ones(KEYS)), ValueError, "its last 2 dimensions or more"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_rejected(change, error, message, return_weights):
    with pytest.raises(error, match=message):
        scaled_dot_product_attention(*change(*draw_heads()), return_weights=return_weights)


# --- causal masks --------------------------------------------------------------------------------


class KernelCalls(TorchDispatchMode):
    """Records in ``causal`` for each call of a fused kernel whether it is in causal mode."""

    def __init__(self) -> None:
        super().__init__()
        self.causal: list[bool] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if "scaled_dot_product" in function.__name__ and "backward" not in function.__name__:
            has_mask = (kwargs or {}).get("attn_mask") is not None
            self.causal.append(not has_mask and args[4:5] == (True,))
        return function(*args, **(kwargs or {}))


@by_kernel_and_formula
@pytest.mark.parametrize(("queries", "keys"), [(KEYS, KEYS), (QUERIES, KEYS), (1, KEYS)])
def test_causal_mask_without_a_tensor_attends_as_with_one(queries, keys, return_weights):
    def run(mask):
        _, key, value = draw_heads()
        query = key[:, :, -queries:] + 0
        result = scaled_dot_product_attention(
            query, key, value, mask, return_weights=return_weights
        )
        return output_and_gradients(output_of(result), (key, value))

    assert_equal_in_float64(run(CausalMask(queries, keys)), run(causal_mask(queries, keys)))


LONG = 300  # tokens: from 256 on a boolean mask is compared with a causal one
LONG_HEADS = draw(*[(BATCH, 1, LONG, 2)] * 3, dtype=torch.float32)


@pytest.mark.parametrize(
    ("mask", "is_causal"),
    [
        (CausalMask(LONG), True),
        (causal_mask(LONG), True),
        (causal_mask(LONG)[0, 0], True),
        (causal_mask(LONG) & padding_mask(torch.ones(BATCH, LONG, dtype=torch.long), PAD), True),
        (causal_mask(LONG).clone().index_fill_(-1, torch.tensor([7]), True), False),
        (causal_mask(LONG).clone().index_fill_(-1, torch.tensor([LONG - 1]), False), False),
        (causal_mask(LONG).clone().index_fill_(-2, torch.tensor([9]), False), False),
        (torch.ones(LONG, LONG, dtype=torch.bool), False),
        (causal_mask(LONG).mT, False),
        (None, False),
    ],
    ids=["by name", "tensor", "of two dimensions", "no padding", "prefix", "padding", "one row",
         "all", "future", "none"],
)  # fmt: skip
def test_kernel_runs_in_causal_mode_for_a_long_causal_mask_alone(mask, is_causal):
    with KernelCalls() as calls:
        output = scaled_dot_product_attention(*LONG_HEADS, mask)
    assert calls.causal == [is_causal]
    formula, _ = scaled_dot_product_attention(*LONG_HEADS, mask, return_weights=True)
    torch.testing.assert_close(output, formula)


def test_vmap_maps_over_long_masks():
    masks = torch.stack([causal_mask(LONG)[0, 0], causal_mask(LONG)[0, 0].mT])
    inputs = (*(x[:, 0].detach() for x in LONG_HEADS), masks)
    together = torch.vmap(scaled_dot_product_attention)(*inputs)
    alone = [scaled_dot_product_attention(*each) for each in zip(*inputs, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone))


@pytest.mark.parametrize("square", with_proofs([True, False], [False]))
def test_causal_mask_without_a_tensor_compiles_and_exports(square):
    class Reader(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            queries = x if square else x[..., 2:, :]
            return scaled_dot_product_attention(
                queries, x, x, CausalMask(queries.size(-2), x.size(-2))
            )

    x, reader = torch.randn(2, 1, 5, 4), Reader()
    compiled = torch.compile(reader, fullgraph=True, backend="eager", dynamic=True)
    for length in (5, 4):
        torch.testing.assert_close(compiled(x[:, :, :length]), reader(x[:, :, :length]))
    torch._dynamo.reset()
    program = torch.export.export(reader, (x,))
    torch.testing.assert_close(program.module()(x), reader(x))
    assert (", None, 0.0, True)" in str(program.graph)) is square


# --- NaN behind a mask ---------------------------------------------------------------------------


@by_kernel_and_formula
@pytest.mark.parametrize("spoiled", ["key", "value", "key and value"])
@pytest.mark.parametrize("filling", [math.nan, math.inf])
@pytest.mark.parametrize("queries", [QUERIES, 1])
def test_nan_and_infinity_behind_the_mask_change_nothing(queries, filling, spoiled, return_weights):
    mask = MASKS["padding and causal"][:, :, -queries:]  # hides the last keys of the second row

    def run(filling):
        query, key, value = draw_heads()
        query = query[:, :, -queries:]
        with torch.no_grad():
            for name, tensor in (("key", key), ("value", value)):
                tensor[1, :, -2:] = filling if name in spoiled else 0.0
        result = scaled_dot_product_attention(
            query, key, value, mask, return_weights=return_weights
        )
        return output_and_gradients(output_of(result), [query])

    expected = run(0.0)
    assert all(x.isfinite().all() for x in expected)
    torch.testing.assert_close(run(filling), expected)


@by_kernel_and_formula
def test_nan_that_may_be_seen_stays(return_weights):
    query, key, value = (x.detach() for x in draw_heads())
    key[0, :, 0] = math.nan
    result = scaled_dot_product_attention(
        query, key, value, MASKS["padding"], return_weights=return_weights
    )
    assert output_of(result)[0].isnan().all()
    assert output_of(result)[1].isfinite().all()


@by_kernel_and_formula
@pytest.mark.parametrize("build", [MultiHeadAttention, CachedAttention])
def test_layer_has_finite_gradients_where_the_memory_is_padded_with_nan(build, return_weights):
    layer = randomise(build(D_MODEL, HEADS))
    query, memory = draw((BATCH, QUERIES, D_MODEL), (BATCH, KEYS, D_MODEL), dtype=torch.float32)

    def run(filling):
        source = memory.detach().clone()
        source[1, 3:] = filling
        result = layer(query, source, source, MASKS["padding"], return_weights=return_weights)
        return output_and_gradients(output_of(result), layer.parameters())

    torch.testing.assert_close(run(math.nan), run(0.0))


@torch.no_grad()
@pytest.mark.parametrize("build", [FixedCache, GrowingCache])
def test_cached_layer_keeps_nan_behind_the_mask_out_of_its_cache(build):
    layer = randomise(CachedAttention(D_MODEL, HEADS))
    query, memory = draw((BATCH, QUERIES, D_MODEL), (BATCH, KEYS, D_MODEL), dtype=torch.float32)
    clean = memory.clone()
    memory[1, 3:], clean[1, 3:] = math.nan, 0.0
    got, expected = (
        layer(query, source, source, MASKS["padding"], cache=build()) for source in (memory, clean)
    )
    torch.testing.assert_close(got, expected)


# --- MultiHeadAttention --------------------------------------------------------------------------


def build_pair(bias=True, dtype=torch.float64) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Return our layer and PyTorch's, with the same random weights and biases."""
    ours = MultiHeadAttention(D_MODEL, HEADS, bias=bias)
    torchs = randomise(nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True))
    copy_torch_attention(ours, torchs)
    return ours.to(dtype), torchs.to(dtype)


@by_kernel_and_formula
@in_both_dtypes
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("self_attention", [True, False], ids=["self", "cross"])
def test_layer_equals_torch_forward_and_backward(self_attention, name, bias, dtype, return_weights):
    query_len = KEYS if self_attention else QUERIES
    mask = masks_for(query_len)[name]
    inverted = None  # PyTorch's masks are True where attention is forbidden
    if mask is not None:
        inverted = ~mask.expand(BATCH, HEADS, query_len, KEYS).flatten(0, 1)

    def draw_inputs(dtype):
        lengths = [KEYS] if self_attention else [QUERIES, KEYS, KEYS]
        inputs = draw(*((BATCH, length, D_MODEL) for length in lengths), dtype=dtype)
        return inputs, inputs * 3 if self_attention else inputs

    def ours(dtype):
        layer, _ = build_pair(bias, dtype)
        inputs, three = draw_inputs(dtype)
        result = layer(*three, mask, return_weights=return_weights)
        output, weights = result if return_weights else (result, None)
        parameters = dict(layer.named_parameters())
        names = [n for kind in ("weight", "bias") for n in parameters if n.endswith(kind)]
        # PyTorch's order: queries, keys and values joined, first weights, then biases; then output.
        results = output_and_gradients(output, [*inputs, *(parameters[n] for n in names)])
        head, gradients = results[: 1 + len(inputs)], results[1 + len(inputs) :]
        joined = [torch.cat(gradients[i : i + 3]) for i in range(0, len(gradients), 4)]
        return [*head, *joined, *gradients[3::4], *([weights] if return_weights else [])]

    def theirs(dtype):
        _, layer = build_pair(bias, dtype)
        inputs, three = draw_inputs(dtype)
        output, weights = layer(*three, attn_mask=inverted, average_attn_weights=False)
        results = output_and_gradients(output, [*inputs, *layer.parameters()])
        return [*results, *([weights] if return_weights else [])]

    assert_parity(ours, theirs, dtype)


def test_layer_has_the_documented_parameters_and_no_hidden_state():
    layer = MultiHeadAttention(D_MODEL, HEADS)
    roles = ("query", "key", "value", "output")
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {
        f"{role}_projection.{kind}": shape
        for role in roles
        for kind, shape in (("weight", (D_MODEL, D_MODEL)), ("bias", (D_MODEL,)))
    }
    before = set(vars(layer))
    layer(*[torch.randn(1, 2, D_MODEL)] * 3, return_weights=True)
    assert set(vars(layer)) == before
    for build in (MultiHeadAttention, CachedAttention):
        names = build(D_MODEL, HEADS, bias=False).state_dict()
        assert set(names) == {f"{role}_projection.weight" for role in roles}


with_both_layers = pytest.mark.parametrize("build", [MultiHeadAttention, CachedAttention])


@with_both_layers
def test_layer_rejects_heads_that_do_not_divide_the_width(build):
    for d_model, num_heads in [(12, 5), (4, 8)]:
        message = f"d_model={d_model} must be divisible by num_heads={num_heads}"
        with pytest.raises(ValueError, match=message):
            build(d_model, num_heads)


@by_kernel_and_formula
@with_both_layers
def test_layer_rejects_masks_that_do_not_fit(build, return_weights):
    layer, x = build(D_MODEL, HEADS), torch.randn(1, 3, D_MODEL)
    with pytest.raises(TypeError, match="mask must be boolean"):
        layer(x, x, x, torch.ones(1, 1, 3, 3), return_weights=return_weights)
    for shape in [(3, 3), (2, 3, 3), (3, 1, 1, 3), (1, 2, 1, 3)]:  # (3, 3): (batch, key_len)?
        with pytest.raises(ValueError, match=r"mask must have shape \(1, 3, 3, 3\), .* got \("):
            layer(x, x, x, ones(*shape), return_weights=return_weights)


@with_both_layers
@pytest.mark.parametrize(
    ("query", "key", "value", "message"),
    [
        ((5, 12), (5, 12), (5, 12), r"query must have shape \(batch, length, width\), got"),
        ((2, 5, 12), (1, 5, 12), (1, 5, 12), r"must agree in batch, got \[2, 1, 1\]"),
        ((2, 5, 12), (2, 5, 12), (1, 5, 12), r"must agree in batch, got \[2, 2, 1\]"),
    ],
)
def test_layer_rejects_inputs_without_a_batch_or_of_two(build, query, key, value, message):
    layer = build(D_MODEL, HEADS)
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(query), torch.zeros(key), torch.zeros(value))


# --- GroupedQueryAttention -----------------------------------------------------------------------

GROUPED = {"d_model": D_MODEL, "num_heads": 6, "num_kv_heads": 2, "head_dim": 4}


def grouped(**settings) -> GroupedQueryAttention:
    return randomise(GroupedQueryAttention(**(GROUPED | settings))).double()


@by_kernel_and_formula
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("rotary", [None, RotaryPositions(4)], ids=["plain", "rotary"])
def test_grouped_queries_equal_torchs(rotary, num_kv_heads, return_weights):
    layer = grouped(num_kv_heads=num_kv_heads, bias=True, output_bias=True, rotary=rotary)
    (x,) = draw((BATCH, KEYS, D_MODEL))
    mask = padding_mask(TOKEN_IDS, PAD) & causal_mask(KEYS)
    query, key, value = (
        getattr(layer, f"{name}_projection")(x).unflatten(-1, (-1, 4)).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    assert key.size(1) == num_kv_heads
    if rotary:
        query, key = rotary(query), rotary(key)
    attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    expected = layer.output_projection(attended.transpose(1, 2).flatten(-2))
    actual = output_of(layer(x, x, x, mask, return_weights=return_weights))
    inputs = [x, *layer.parameters()]
    assert_equal_in_float64(
        output_and_gradients(actual, inputs), output_and_gradients(expected, inputs)
    )


@torch.no_grad()
def test_grouped_queries_keep_the_key_value_heads_alone_in_the_cache():
    layer, cache = grouped(rotary=RotaryPositions(4, layout="halves")), GrowingCache()
    (x,) = draw((BATCH, KEYS, D_MODEL))
    parts = [
        layer(part, part, part, causal_mask(part.size(1), end), cache=cache)
        for part, end in zip(x.split([2, 1, 2], dim=1), (2, 3, 5), strict=True)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), layer(x, x, x, causal_mask(KEYS)))
    none = torch.zeros(BATCH, 2, 0, 4, dtype=torch.float64)
    assert cache.update(none, none)[0].shape == (BATCH, 2, KEYS, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_kv_heads": 4}, "num_heads=6 must be divisible by num_kv_heads=4"),
        ({"head_dim": 0}, "head_dim must be at least 1, got 0"),
        ({"head_dim": None, "d_model": 13}, "d_model=13 must be divisible by num_heads=6"),
    ],
)
def test_bad_sizes_of_grouped_queries_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(**(GROUPED | change))
