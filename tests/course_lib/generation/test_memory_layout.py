"""Does the layout change, and nothing else?"""

import torch

from course_lib.generation.memory_layout import store_by_columns
from course_lib.models.gpt import DecoderLM, DecoderLMConfig

IDS = torch.tensor([[1, 5, 2], [3, 0, 4]])


def build() -> DecoderLM:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 2}
    return DecoderLM(DecoderLMConfig(vocab_size=6, max_length=4, dropout=0.0, **sizes)).double()


def test_every_matrix_lies_column_by_column_and_keeps_its_values():
    model, untouched = build(), build()
    store_by_columns(model)
    for name, layer in model.named_modules():
        if isinstance(layer, torch.nn.Linear):
            assert layer.weight.stride() == (1, layer.out_features), name
            assert layer.weight.shape == (layer.out_features, layer.in_features)
    for name, value in untouched.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    torch.testing.assert_close(model(IDS), untouched(IDS), rtol=1e-12, atol=1e-12)


def test_shared_weights_stay_shared_and_parameters_the_same_objects():
    model = build()
    before = list(model.parameters())
    store_by_columns(model)
    assert all(a is b for a, b in zip(model.parameters(), before, strict=True))
    assert model.output_projection.weight is model.embedding.weight


def test_twice_is_once():
    model = build()
    store_by_columns(model)
    strides = [p.stride() for p in model.parameters()]
    store_by_columns(model)
    assert [p.stride() for p in model.parameters()] == strides


def test_training_goes_on_as_it_would():
    models = [build(), build()]
    store_by_columns(models[0])
    for model in models:
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            model(IDS).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(models[0](IDS), models[1](IDS), rtol=1e-9, atol=1e-9)
