"""Is attention the same function as PyTorch's, and does it have the properties it must have?

Dimensions: BATCH, HEADS, QUERIES, KEYS, WIDTH all differ, so that no mix-up of two goes unseen.
"""

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
from tests.course_lib.parity import assert_as_exact_as, output_and_gradients, randomise
from tests.daily import with_proofs

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 4, 5, 6, 7
D_MODEL = 12  # HEADS heads of 4
PAD = 0
TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, PAD, PAD]])
MASKS = {
    "none": None,
    "padding": padding_mask(TOKEN_IDS, PAD),
    "causal": causal_mask(QUERIES, KEYS),
    "padding and causal": padding_mask(TOKEN_IDS, PAD) & causal_mask(QUERIES, KEYS),
    "a mask for each head": (
        torch.rand(BATCH, HEADS, QUERIES, KEYS, generator=torch.Generator().manual_seed(1)) > 0.4
    )
    | torch.eye(QUERIES, KEYS, dtype=torch.bool),
}
with_each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
in_both_dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
in_both_ways = pytest.mark.parametrize("return_weights", [False, True], ids=["fused", "formula"])


def draw_heads(dtype=torch.float64, seed=0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUE_WIDTH)]
    return tuple(
        torch.randn(BATCH, HEADS, *shape, generator=generator, dtype=torch.float64)
        .to(dtype)
        .requires_grad_()
        for shape in shapes
    )


def output_of(result):
    return result[0] if isinstance(result, tuple) else result


class KernelCalls(TorchDispatchMode):
    """Records the argument ``is_causal`` of each call of a fused kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.causal: list[bool] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if "scaled_dot_product" in function.__name__ and "backward" not in function.__name__:
            has_mask = (kwargs or {}).get("attn_mask") is not None
            self.causal.append(not has_mask and args[4:5] == (True,))
        return function(*args, **(kwargs or {}))


# --- scaled_dot_product_attention ----------------------------------------------------------------


@in_both_ways
@in_both_dtypes
@with_each_mask
def test_equals_torch_forward_and_backward(mask, dtype, return_weights):
    def run(function, dtype):
        inputs = draw_heads(dtype)
        return output_and_gradients(output_of(function(*inputs)), inputs)

    def ours(q, k, v):
        return scaled_dot_product_attention(q, k, v, mask, return_weights=return_weights)

    def torchs(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    exact = run(torchs, torch.float64)
    actual, reference = run(ours, dtype), run(torchs, dtype)
    if dtype == torch.float32:
        assert_as_exact_as(reference, actual, exact)
    else:
        for got, expected in zip(actual, reference, strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


@in_both_ways
def test_takes_plain_matrices_and_more_batch_dimensions(return_weights):
    query, key, value = draw_heads()
    whole = output_of(scaled_dot_product_attention(query, key, value))
    for lead in [(0, 0), (1,)]:
        part = scaled_dot_product_attention(
            query[lead], key[lead], value[lead], return_weights=return_weights
        )
        torch.testing.assert_close(output_of(part), whole[lead])


@in_both_ways
def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients(return_weights):
    inputs = draw_heads()
    mask = MASKS["a mask for each head"].clone()
    mask[0, :, 1] = False
    mask[1, 2] = False
    output = output_of(scaled_dot_product_attention(*inputs, mask, return_weights=return_weights))
    assert (output[0, :, 1] == 0).all()
    assert (output[1, 2] == 0).all()
    assert (output[0, :, 0] != 0).all()
    _, query_grad, key_grad, value_grad = output_and_gradients(output, inputs)
    for gradient in (query_grad, key_grad, value_grad):
        assert gradient.isfinite().all()
    assert (query_grad[0, :, 1] == 0).all()
    assert (key_grad[1, 2] == 0).all()
    assert (value_grad[1, 2] == 0).all()


def test_weights_of_a_query_that_may_see_nothing_are_zeros():
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    mask[2] = False
    _, weights = scaled_dot_product_attention(*draw_heads(), mask, return_weights=True)
    assert (weights[:, :, 2] == 0).all()


def test_gradients_of_the_weights_are_right():
    def function(q, k, v):
        mask = MASKS["causal"]
        return scaled_dot_product_attention(q, k, v, mask, return_weights=True)[1]

    assert torch.autograd.gradcheck(function, draw_heads())


@in_both_ways
def test_inputs_are_left_as_they_were(return_weights):
    inputs = draw_heads()
    mask = MASKS["padding"].clone()
    before = [x.detach().clone() for x in (*inputs, mask)]
    scaled_dot_product_attention(*inputs, mask, return_weights=return_weights)
    assert all(torch.equal(x, y) for x, y in zip((*inputs, mask), before, strict=True))


@in_both_ways
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.int64])
def test_a_mask_that_is_not_boolean_is_refused(dtype, return_weights):
    with pytest.raises(TypeError, match=rf"mask must be boolean .* got {dtype}"):
        scaled_dot_product_attention(
            *draw_heads(), torch.ones(QUERIES, KEYS, dtype=dtype), return_weights=return_weights
        )


@in_both_ways
def test_query_and_key_of_different_width_are_refused(return_weights):
    query, key, value = draw_heads()
    with pytest.raises(ValueError, match="query and key must agree in head_dim, got 6 and 5"):
        scaled_dot_product_attention(query, key[..., :5], value, return_weights=return_weights)


@in_both_ways
def test_key_and_value_of_different_length_are_refused(return_weights):
    query, key, value = draw_heads()
    with pytest.raises(ValueError, match="key and value must agree in key_len, got 5 and 4"):
        scaled_dot_product_attention(query, key, value[..., :4, :], return_weights=return_weights)


@in_both_ways
@pytest.mark.parametrize(
    "shape", [(5, 1, 1, KEYS), (BATCH, HEADS, 5, KEYS), (1, 1, 1, 1, 1), (KEYS,)]
)
def test_a_mask_that_would_enlarge_or_does_not_fit_is_refused(shape, return_weights):
    inputs = [x[:1] for x in draw_heads()]
    with pytest.raises(ValueError, match=r"mask must have shape \(1, 3, 4, 5\)"):
        scaled_dot_product_attention(
            *inputs, torch.ones(shape, dtype=torch.bool), return_weights=return_weights
        )


@in_both_ways
def test_a_mask_may_leave_leading_dimensions_out(return_weights):
    inputs, mask = draw_heads(), MASKS["causal"]
    expected = scaled_dot_product_attention(*inputs, mask)
    actual = scaled_dot_product_attention(*inputs, mask[0, 0], return_weights=return_weights)
    torch.testing.assert_close(output_of(actual), expected)


LONG = 300  # tokens: from 256 on a boolean mask is compared with a causal one


def long_heads(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(BATCH, 1, LONG, 2, generator=generator).requires_grad_() for _ in range(3)]


@in_both_ways
@pytest.mark.parametrize(("queries", "keys"), [(KEYS, KEYS), (QUERIES, KEYS), (1, KEYS)])
def test_causal_mask_without_a_tensor_attends_as_with_one(queries, keys, return_weights):
    def run(mask):
        query, key, value = draw_heads()
        query = key[:, :, -queries:] + 0  # as long as is asked for
        result = scaled_dot_product_attention(
            query, key, value, mask, return_weights=return_weights
        )
        return output_and_gradients(output_of(result), (key, value))

    expected = run(causal_mask(queries, keys))
    for got, wanted in zip(run(CausalMask(queries, keys)), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("mask", "is_causal"),
    [
        (CausalMask(LONG), True),
        (causal_mask(LONG), True),
        (causal_mask(LONG)[0, 0], True),
        (causal_mask(LONG) & padding_mask(torch.ones(BATCH, LONG, dtype=torch.long), PAD), True),
        (causal_mask(LONG).clone().index_fill_(-1, torch.tensor([7]), True), False),
        (causal_mask(LONG).clone().index_fill_(-1, torch.tensor([LONG - 1]), False), False),
        (torch.ones(LONG, LONG, dtype=torch.bool), False),
        (causal_mask(LONG).mT, False),
        (None, False),
    ],
    ids=["by name", "tensor", "of two dimensions", "no padding", "prefix", "padding", "all",
         "future", "none"],
)  # fmt: skip
def test_kernel_is_told_of_a_long_causal_mask(mask, is_causal):
    query, key, value = long_heads()
    with KernelCalls() as calls:
        output = scaled_dot_product_attention(query, key, value, mask)
    assert calls.causal == [is_causal]
    formula, _ = scaled_dot_product_attention(query, key, value, mask, return_weights=True)
    torch.testing.assert_close(output, formula)


def test_a_causal_mask_changed_in_place_is_seen_as_it_is():
    query, key, value = long_heads()
    mask = causal_mask(LONG)
    scaled_dot_product_attention(query, key, value, mask)
    mask[..., :20] = True
    output = scaled_dot_product_attention(query, key, value, mask)
    formula, _ = scaled_dot_product_attention(query, key, value, mask, return_weights=True)
    torch.testing.assert_close(output, formula)


def test_long_masks_may_be_mapped_over():
    query, key, value = (x[:, 0].detach() for x in long_heads())
    masks = torch.stack([causal_mask(LONG)[0, 0], causal_mask(LONG)[0, 0].mT])
    together = torch.vmap(scaled_dot_product_attention)(query, key, value, masks)
    alone = [
        scaled_dot_product_attention(*each) for each in zip(query, key, value, masks, strict=True)
    ]
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


SPOILED = {
    "keys": (True, False),
    "values": (False, True),
    "keys and values": (True, True),
}


@in_both_ways
@pytest.mark.parametrize("of", SPOILED.values(), ids=SPOILED.keys())
@pytest.mark.parametrize("filling", [float("nan"), float("inf")])
@pytest.mark.parametrize("queries", [QUERIES, 1])
def test_nothing_behind_a_mask_counts_not_even_nan(queries, filling, of, return_weights):
    mask = MASKS["padding and causal"][:, :, -queries:]  # hides the last keys of the second row
    results = []
    for spoiled in (False, True):
        query, key, value = draw_heads()
        inputs = [query[:, :, -queries:].detach().requires_grad_(), key, value]
        with torch.no_grad():
            for tensor, is_spoiled in zip((key, value), of, strict=True):
                tensor[1, :, -2:] = filling if spoiled and is_spoiled else 0.0
        output = output_of(
            scaled_dot_product_attention(*inputs, mask, return_weights=return_weights)
        )
        results.append([output, torch.autograd.grad(output.square().sum(), inputs[0])[0]])
    for got, expected in zip(*reversed(results), strict=True):
        assert expected.isfinite().all()
        torch.testing.assert_close(got, expected)


@in_both_ways
def test_nan_that_may_be_seen_stays(return_weights):
    query, key, value = (x.detach() for x in draw_heads())
    key[0, :, 0] = float("nan")
    output = output_of(
        scaled_dot_product_attention(
            query, key, value, MASKS["padding"], return_weights=return_weights
        )
    )
    assert output[0].isnan().all()
    assert output[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_formula_holds_scores_that_float16_does_not(dtype):
    query = torch.full((1, 1, 2, 64), 200.0, dtype=dtype)  # scores of 320,000
    value = torch.randn(1, 1, 2, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    output, weights = scaled_dot_product_attention(query, query, value, return_weights=True)
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    torch.testing.assert_close(output, scaled_dot_product_attention(query, query, value))
    torch.testing.assert_close(weights, torch.full_like(weights, 0.5))


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@in_both_ways
def test_a_query_that_may_see_nothing_passes_anomaly_detection(return_weights):
    mask = MASKS["a mask for each head"].clone()
    mask[:, :, 1] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        output = scaled_dot_product_attention(*draw_heads(), mask, return_weights=return_weights)
        output_of(output).square().sum().backward()


# --- MultiHeadAttention --------------------------------------------------------------------------


def build_pair(bias=True, dtype=torch.float64) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Return our layer and PyTorch's, with the same random weights and biases."""
    torch.manual_seed(3)
    ours = MultiHeadAttention(D_MODEL, HEADS, bias=bias).double()
    torchs = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True).double()
    with torch.no_grad():
        for parameter in torchs.parameters():  # PyTorch's biases start at zero, which hides them
            nn.init.normal_(parameter, std=0.5)
        projections = (ours.query_projection, ours.key_projection, ours.value_projection)
        for i, projection in enumerate(projections):
            rows = slice(i * D_MODEL, (i + 1) * D_MODEL)
            projection.weight.copy_(torchs.in_proj_weight[rows])
            if bias:
                projection.bias.copy_(torchs.in_proj_bias[rows])
        ours.output_projection.load_state_dict(torchs.out_proj.state_dict())
    return ours.to(dtype), torchs.to(dtype)


def draw_sequences(self_attention: bool, dtype=torch.float64) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(5)
    shapes = [(KEYS, D_MODEL)] if self_attention else [(n, D_MODEL) for n in (QUERIES, KEYS, KEYS)]
    return tuple(
        torch.randn(BATCH, *shape, generator=generator, dtype=torch.float64)
        .to(dtype)
        .requires_grad_()
        for shape in shapes
    )


def thrice(sequences):
    return sequences * 3 if len(sequences) == 1 else sequences


def inverted_for_torch(mask, query_len):
    if mask is None:
        return None
    shape = (BATCH, HEADS, query_len, KEYS)
    return ~mask.expand(shape).reshape(BATCH * HEADS, query_len, KEYS)


def masks_for(query_len):
    if query_len == QUERIES:
        return MASKS
    per_head = torch.rand(BATCH, HEADS, query_len, KEYS, generator=torch.Generator().manual_seed(2))
    return {
        **MASKS,
        "causal": causal_mask(KEYS),
        "padding and causal": MASKS["padding"] & causal_mask(KEYS),
        "a mask for each head": (per_head > 0.4) | torch.eye(KEYS, dtype=torch.bool),
    }


@in_both_ways
@in_both_dtypes
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("self_attention", [True, False], ids=["self", "cross"])
def test_layer_equals_torch_forward_and_backward(self_attention, name, bias, dtype, return_weights):
    query_len = KEYS if self_attention else QUERIES
    mask = masks_for(query_len)[name]

    def run_ours(dtype):
        layer, _ = build_pair(bias, dtype)
        inputs = draw_sequences(self_attention, dtype)
        output = output_of(layer(*thrice(inputs), mask, return_weights=return_weights))
        return output_and_gradients(output, [*inputs, *ordered_parameters(layer, bias)])

    def run_torch(dtype):
        _, layer = build_pair(bias, dtype)
        inputs = draw_sequences(self_attention, dtype)
        output, _ = layer(*thrice(inputs), attn_mask=inverted_for_torch(mask, query_len))
        results = output_and_gradients(output, [*inputs, *layer.parameters()])
        return split_in_projection(results, layer, len(inputs))

    exact, reference, actual = run_torch(torch.float64), run_torch(dtype), run_ours(dtype)
    if dtype == torch.float32:
        assert_as_exact_as(reference, actual, exact)
    else:
        for got, expected in zip(actual, reference, strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-11)


def ordered_parameters(layer, bias):
    layers = (layer.query_projection, layer.key_projection, layer.value_projection)
    weights = [projection.weight for projection in layers]
    biases = [projection.bias for projection in layers] if bias else []
    output = layer.output_projection
    return [*weights, *biases, output.weight, *([output.bias] if bias else [])]


def split_in_projection(results, layer, inputs):
    """Return PyTorch's results with the gradient of its joint projection split in three."""
    names = [name for name, _ in layer.named_parameters()]
    gradients = results[1 + inputs :]
    split = []
    for name, gradient in zip(names, gradients, strict=True):
        split += gradient.chunk(3) if name.startswith("in_proj") else [gradient]
    return [*results[: 1 + inputs], *split]


@pytest.mark.parametrize("name", MASKS)
def test_layer_returns_the_weights_of_each_head(name):
    ours, torchs = build_pair()
    inputs, mask = draw_sequences(self_attention=False), MASKS[name]
    _, weights = ours(*inputs, mask, return_weights=True)
    _, expected = torchs(
        *inputs, attn_mask=inverted_for_torch(mask, QUERIES), average_attn_weights=False
    )
    assert weights.shape == (BATCH, HEADS, QUERIES, KEYS)
    torch.testing.assert_close(weights, expected)


def test_layer_has_the_documented_parameters_and_no_hidden_state():
    layer = MultiHeadAttention(D_MODEL, HEADS)
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {
        f"{role}_projection.{kind}": shape
        for role in ("query", "key", "value", "output")
        for kind, shape in (("weight", (D_MODEL, D_MODEL)), ("bias", (D_MODEL,)))
    }
    before = set(vars(layer))
    layer(*[torch.randn(1, 2, D_MODEL)] * 3, return_weights=True)
    assert set(vars(layer)) == before
    assert layer.num_heads == HEADS
    assert not any("bias" in n for n, _ in MultiHeadAttention(4, 2, bias=False).named_parameters())


@pytest.mark.parametrize(("d_model", "num_heads"), [(12, 5), (12, 0), (12, -3), (4, 8)])
def test_layer_refuses_heads_that_do_not_divide_the_width(d_model, num_heads):
    message = f"d_model={d_model} must be divisible by num_heads={num_heads}"
    if num_heads < 1:
        message = f"num_heads must be at least 1, got {num_heads}"
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(d_model, num_heads)


def test_layer_refuses_a_mask_that_is_not_boolean():
    layer, _ = build_pair()
    with pytest.raises(TypeError, match="mask must be boolean"):
        layer(*draw_sequences(self_attention=False), torch.ones(QUERIES, KEYS))


@in_both_ways
@pytest.mark.parametrize("cached", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (3, 1, 1, 3), (1, 2, 1, 3)], ids=str)
def test_layer_takes_masks_of_four_dimensions_that_enlarge_nothing(shape, cached, return_weights):
    layer = (CachedAttention if cached else MultiHeadAttention)(D_MODEL, HEADS)
    x = torch.randn(1, 3, D_MODEL)  # (3, 3) may be meant as (batch, key_len)
    with pytest.raises(ValueError, match=r"mask must have shape \(1, 3, 3, 3\), .* got \("):
        layer(x, x, x, torch.ones(shape, dtype=torch.bool), return_weights=return_weights)


@in_both_ways
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_as_exact_as_torch(dtype, return_weights):
    mask = MASKS["padding and causal"]
    inputs = draw_heads(dtype)
    exact = F.scaled_dot_product_attention(*[x.double() for x in inputs], attn_mask=mask)
    reference = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    actual = output_of(scaled_dot_product_attention(*inputs, mask, return_weights=return_weights))
    assert_as_exact_as([reference], [actual], [exact])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@in_both_ways
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


@in_both_ways
@pytest.mark.parametrize("build", [MultiHeadAttention, CachedAttention])
def test_layer_has_finite_gradients_where_the_memory_is_padded_with_nan(build, return_weights):
    torch.manual_seed(0)
    layer = build(D_MODEL, HEADS)
    query, memory = torch.randn(BATCH, QUERIES, D_MODEL), torch.randn(BATCH, KEYS, D_MODEL)
    mask = padding_mask(TOKEN_IDS, PAD)
    results = []
    for filling in (0.0, float("nan")):
        memory[1, 3:] = filling
        output = output_of(layer(query, memory, memory, mask, return_weights=return_weights))
        layer.zero_grad()
        output.square().sum().backward()
        results.append([output, *(parameter.grad for parameter in layer.parameters())])
    for got, expected in zip(*reversed(results), strict=True):
        torch.testing.assert_close(got, expected)


@torch.no_grad()
def test_cached_layer_keeps_nan_behind_the_mask_out_of_its_caches():
    torch.manual_seed(0)
    layer = CachedAttention(D_MODEL, HEADS).eval()
    memory = torch.randn(BATCH, KEYS, D_MODEL)
    clean = memory.clone()
    memory[1, 3:], clean[1, 3:] = float("nan"), 0.0
    mask = padding_mask(TOKEN_IDS, PAD)
    for build in (FixedCache, GrowingCache):
        caches = build(), build()
        got, expected = (
            layer(memory[:, :QUERIES].nan_to_num(), source, source, mask, cache=cache)
            for source, cache in zip((memory, clean), caches, strict=True)
        )
        torch.testing.assert_close(got, expected)


MISTAKEN_INPUTS = [
    ((5, 12), (5, 12), (5, 12), r"query must have shape \(batch, length, width\), got \(5, 12\)"),
    ((2, 5, 12), (5, 12), (5, 12), r"key must have shape"),
    ((2, 5, 12), (2, 5, 12), (1, 2, 5, 12), r"value must have shape"),
    ((2, 5, 12), (3, 5, 12), (3, 5, 12), r"must agree in batch, got \[2, 3, 3\]"),
    ((2, 5, 12), (1, 5, 12), (1, 5, 12), r"must agree in batch, got \[2, 1, 1\]"),
    ((2, 5, 12), (2, 5, 12), (1, 5, 12), r"must agree in batch, got \[2, 2, 1\]"),
]


@pytest.mark.parametrize("build", [MultiHeadAttention, CachedAttention])
@pytest.mark.parametrize(("query", "key", "value", "message"), MISTAKEN_INPUTS)
def test_layer_refuses_inputs_without_a_batch_or_of_two(build, query, key, value, message):
    layer = build(D_MODEL, HEADS)
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(query), torch.zeros(key), torch.zeros(value))


# --- GroupedQueryAttention -----------------------------------------------------------------------

KV_HEADS = 2
GROUPED = {"d_model": D_MODEL, "num_heads": 6, "num_kv_heads": KV_HEADS, "head_dim": 4}


def grouped(**settings) -> GroupedQueryAttention:
    return randomise(GroupedQueryAttention(**(GROUPED | settings))).double()


@in_both_ways
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
def test_grouped_queries_equal_torchs(num_kv_heads, return_weights):
    layer = grouped(num_kv_heads=num_kv_heads, bias=True, output_bias=True)
    x = torch.randn(BATCH, KEYS, D_MODEL, dtype=torch.float64, requires_grad=True)
    mask = padding_mask(TOKEN_IDS, PAD) & causal_mask(KEYS)

    def torchs():
        query, key, value = (
            getattr(layer, f"{name}_projection")(x).unflatten(-1, (-1, 4)).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        assert key.size(1) == num_kv_heads
        attended = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, enable_gqa=True
        )
        return layer.output_projection(attended.transpose(1, 2).flatten(-2))

    inputs = [x, *layer.parameters()]
    actual = output_of(layer(x, x, x, mask, return_weights=return_weights))
    for got, expected in zip(
        output_and_gradients(actual, inputs), output_and_gradients(torchs(), inputs), strict=True
    ):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-10)


@torch.no_grad()
def test_grouped_queries_keep_the_key_value_heads_alone_in_the_cache():
    layer, cache = grouped(rotary=RotaryPositions(4, layout="halves")), GrowingCache()
    x = torch.randn(BATCH, KEYS, D_MODEL, dtype=torch.float64)
    parts = [
        layer(part, part, part, causal_mask(part.size(1), end), cache=cache)
        for part, end in zip(x.split([2, 1, 2], dim=1), (2, 3, 5), strict=True)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), layer(x, x, x, causal_mask(KEYS)))
    none = torch.zeros(BATCH, KV_HEADS, 0, 4, dtype=torch.float64)
    assert cache.update(none, none)[0].shape == (BATCH, KV_HEADS, KEYS, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_kv_heads": 4}, "num_heads=6 must be divisible by num_kv_heads=4"),
        ({"num_kv_heads": 0}, "num_kv_heads must be at least 1, got 0"),
        ({"head_dim": 0}, "head_dim must be at least 1, got 0"),
        ({"head_dim": None, "d_model": 13}, "d_model=13 must be divisible by num_heads=6"),
    ],
)
def test_bad_sizes_of_grouped_queries_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(**(GROUPED | change))
