"""Are positions what the papers say, and does distance alone count where it should?"""

import copy
import pickle

import pytest
import torch
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj_rotate
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

import course_lib.layers.positional
from course_lib.layers.positional import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    position_angles,
    shift_matrix,
)

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 7, 8


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


# --- sinusoids -----------------------------------------------------------------------------------


def test_sinusoids_are_marians_whose_sines_come_first():
    marian = MarianSinusoidalPositionalEmbedding(LENGTH, WIDTH)
    expected = marian.create_weight() if hasattr(marian, "create_weight") else marian.weight
    vectors = SinusoidalPositions(WIDTH).vectors(LENGTH)
    sines_first = torch.cat((vectors[:, 0::2], vectors[:, 1::2]), dim=-1)
    torch.testing.assert_close(sines_first, expected.detach().float(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("build", [SinusoidalPositions, lambda width: LearnedPositions(20, width)])
def test_positions_are_added_and_go_on_from_the_offset(build):
    positions, x = build(WIDTH).double(), draw(BATCH, LENGTH, WIDTH)
    whole, zeros = positions(x), positions(torch.zeros_like(x))
    torch.testing.assert_close(whole, x + zeros)
    assert torch.equal(zeros[0], zeros[1])
    for cut in range(1, LENGTH):
        parts = (positions(x[:, :cut]), positions(x[:, cut:], offset=cut))
        torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize("offset", [-3, 0, 1, 5, 1000])
def test_shift_matrix_moves_every_position_alike(offset):
    vectors = SinusoidalPositions(16).vectors(4000, dtype=torch.float64)
    matrix, rows = shift_matrix(offset, 16), torch.arange(2000, 2050)
    assert matrix.dtype == torch.float64
    moved = vectors[rows] @ matrix.T
    torch.testing.assert_close(moved, vectors[rows + offset], rtol=0, atol=1e-11)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(16).double())


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 4e-3), (torch.float16, 1e-3)])
def test_half_precision_keeps_its_dtype_and_exact_angles(dtype, tolerance):
    positions, rotary, x = SinusoidalPositions(WIDTH), RotaryPositions(WIDTH), draw(1, 1, WIDTH)
    for exact, rounded, allowed in (
        (positions.vectors(1, offset=3001, dtype=torch.float64),
         positions.vectors(1, offset=3001, dtype=dtype), tolerance),
        (rotary(x, offset=3001), rotary(x.to(dtype), offset=3001), 10 * tolerance),
    ):  # fmt: skip
        assert rounded.dtype == dtype
        torch.testing.assert_close(rounded.double(), exact, rtol=0, atol=allowed)


def test_position_angles_start_at_0_and_slow_down():
    angles = position_angles(torch.arange(3), 6, base=100.0)
    assert torch.equal(angles[0], torch.zeros(3).double())
    expected = torch.tensor([1.0, 100 ** (-1 / 3), 100 ** (-2 / 3)], dtype=torch.float64)
    torch.testing.assert_close(angles[1], expected)
    torch.testing.assert_close(angles[2], 2 * expected)


# --- learned -------------------------------------------------------------------------------------


def test_learned_positions_are_rows_of_the_weight():
    positions = LearnedPositions(10, WIDTH)
    x = torch.zeros(BATCH, 4, WIDTH)
    assert torch.equal(positions(x, offset=5)[1], positions.weight[5:9])
    positions(x, offset=5).sum().backward()
    used = positions.weight.grad.sum(-1) != 0
    assert used.nonzero().flatten().tolist() == [5, 6, 7, 8]


def test_learned_positions_start_small_and_different():
    torch.manual_seed(0)
    weight = LearnedPositions(500, 100).weight
    assert weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert abs(weight.mean().item()) < 1e-3


@pytest.mark.parametrize(("length", "offset"), [(11, 0), (1, 10), (4, 7)])
def test_beyond_the_last_learned_position_is_rejected(length, offset):
    positions = LearnedPositions(10, WIDTH)
    positions(torch.zeros(1, length - 1, WIDTH), offset=10 - (length - 1))  # the last is reached
    message = f"positions end at max_length=10, got a sequence of {length + offset}"
    with pytest.raises(ValueError, match=message):
        positions(torch.zeros(1, length, WIDTH), offset=offset)


def test_learned_positions_count_from_the_first_token_after_the_padding():
    positions, x = LearnedPositions(10, WIDTH), torch.zeros(3, 4, WIDTH)
    padding = torch.tensor([0, 2, 4])
    for offset, rows in (
        (0, [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, 0]]),
        (3, [[3, 4, 5, 6], [1, 2, 3, 4], [0, 0, 1, 2]]),
    ):
        for given in (offset, torch.tensor([offset])):
            actual = positions(x, offset=given, padding=padding)
            assert torch.equal(actual, positions.weight[torch.tensor(rows)])
            assert torch.equal(positions(x, offset=given), positions(x, offset=offset))
    with pytest.raises(ValueError, match="positions end at max_length=10, got a sequence of 11"):
        positions(x, offset=7, padding=padding)
    for shape in [(1,), (2,), (3, 1), ()]:
        with pytest.raises(ValueError, match=r"padding must have shape \(3,\), got"):
            positions(x, padding=torch.zeros(shape, dtype=torch.int64))


# --- rotary --------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_rotary_halves_equal_llamas(offset, base):
    query = draw(BATCH, HEADS, LENGTH, WIDTH).float()
    config = LlamaConfig(hidden_size=WIDTH * HEADS, num_attention_heads=HEADS)
    config.rope_parameters = {"rope_type": "default", "rope_theta": base}
    places = torch.arange(offset, offset + LENGTH)[None]
    expected, _ = apply_rotary_pos_emb(query, query, *LlamaRotaryEmbedding(config)(query, places))
    turned = RotaryPositions(WIDTH, base=base, layout="halves")(query, offset=offset)
    torch.testing.assert_close(turned, expected, rtol=0, atol=2e-6)


def test_rotary_equals_gptjs_whose_pairs_are_neighbours():
    query = draw(BATCH, LENGTH, HEADS, WIDTH)
    angles = position_angles(torch.arange(LENGTH), WIDTH)[None].expand(BATCH, -1, -1)
    expected = gptj_rotate(query, angles.sin(), angles.cos())
    actual = RotaryPositions(WIDTH)(query.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


def test_rotary_computes_the_same_by_formula_and_by_complex_numbers(monkeypatch):
    x = draw(BATCH, HEADS, LENGTH, WIDTH).requires_grad_()
    by_complex_numbers = RotaryPositions(WIDTH)(x, offset=3)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    by_formula = RotaryPositions(WIDTH)(x, offset=3)
    torch.testing.assert_close(by_complex_numbers, by_formula)
    gradients = [torch.autograd.grad(y.square().sum(), x) for y in (by_complex_numbers, by_formula)]
    torch.testing.assert_close(*gradients)


def test_rotary_computes_its_angles_once_for_queries_keys_and_layers(monkeypatch):
    calls = []

    def count(*args, **settings):
        calls.append(args)
        return position_angles(*args, **settings)

    monkeypatch.setattr(course_lib.layers.positional, "position_angles", count)
    rotary, x = RotaryPositions(WIDTH), draw(BATCH, HEADS, LENGTH, WIDTH)
    for _ in range(3):
        rotary(x, offset=2)
        rotary(x[:1] + 1, offset=2)
    assert len(calls) == 1


def test_rotary_gives_what_a_new_layer_gives_whatever_it_was_asked_before():
    rotary, x = RotaryPositions(WIDTH), draw(BATCH, HEADS, LENGTH, WIDTH)
    calls = [
        (x, 0), (x, 4), (x[:, :, :3], 4), (x.float(), 4), (x.bfloat16(), 4), (x.to("meta"), 4),
        (x, 4), (x[0, 0], 4), (x[:, :, :1], 9),
    ]  # fmt: skip
    for given, offset in (*calls, *reversed(calls)):
        expected = RotaryPositions(WIDTH)(given, offset=offset)
        actual = rotary(given, offset=offset)
        assert (actual.device, actual.dtype) == (given.device, given.dtype)
        assert actual.is_meta or torch.equal(actual, expected)


def test_cached_sines_do_not_disturb_later_calls_and_copies():
    rotary, x = RotaryPositions(WIDTH, layout="halves"), draw(1, 1, LENGTH, WIDTH)
    expected = rotary(x)
    with torch.inference_mode():
        rotary(x.clone(), offset=1)
    torch.func.hessian(lambda y: rotary(y).square().sum())(x)
    torch.testing.assert_close(torch.vmap(rotary)(x), expected)
    leaf = x.clone().requires_grad_()
    rotary(leaf, offset=1).square().sum().backward()
    assert leaf.grad.isfinite().all()
    assert not rotary.state_dict()
    for other in (copy.deepcopy(rotary), pickle.loads(pickle.dumps(rotary))):
        assert torch.equal(other(x), expected)
    exported = torch.export.export(rotary, (x,)).module()
    torch.testing.assert_close(exported(x), expected)
    assert torch.equal(rotary(x), expected)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, WIDTH, WIDTH + 2])
@pytest.mark.parametrize(
    ("build", "name", "size"),
    [
        (lambda: RotaryPositions(2), "head_dim", 2),
        (lambda: LearnedPositions(10, 6), "d_model", 6),
        (lambda: SinusoidalPositions(4), "d_model", 4),
    ],
)
def test_vectors_of_another_width_are_rejected_even_if_they_broadcast(build, name, size, width):
    message = rf"x must have shape \(..., {name}={size}\), got \(1, 4, {width}\)"
    with pytest.raises(ValueError, match=message):
        build()(torch.zeros(1, 4, width))


@pytest.mark.parametrize("width", [0, 5, -2])
@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("d_model", SinusoidalPositions),
        ("head_dim", RotaryPositions),
        ("d_model", lambda width: shift_matrix(1, width)),
        ("width", lambda width: position_angles(torch.arange(2), width)),
    ],
)
def test_odd_or_empty_widths_are_rejected(name, build, width):
    with pytest.raises(ValueError, match=f"{name} must be positive and even, got {width}"):
        build(width)


@pytest.mark.parametrize(
    "build",
    [SinusoidalPositions, RotaryPositions, lambda width: LearnedPositions(9, width)],
)
def test_negative_offsets_are_rejected(build):
    with pytest.raises(ValueError, match="offset must not be negative, got -1"):
        build(WIDTH)(torch.zeros(1, 2, WIDTH), offset=-1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": 1.0}, "base must be above 1, got 1.0"),
        ({"layout": "pairs"}, "layout must be one of .*, got 'pairs'"),
    ],
)
def test_bad_settings_of_rotary_positions_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        RotaryPositions(4, **settings)
