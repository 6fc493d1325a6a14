"""Do pictures and captions belong together, and does the caption model see and learn?"""

import pytest
import torch
import torch.nn.functional as F

from course_lib.data.shape_captions import (
    caption_vocabulary,
    draw_captioned_pictures,
    mentioned_shapes,
    true_captions,
)
from course_lib.data.shape_pictures import SIDE, render
from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.captioning import CaptionModel, ConvEncoder
from course_lib.models.seq2seq import RecurrentDecoder
from tests.course_lib.parity import assert_every_parameter_gets_a_gradient

VOCABULARY = caption_vocabulary()
PAD_ID, BOS_ID, EOS_ID = VOCABULARY.encode(["<pad>", "<start>", "<end>"])


def draw(batch_size=8, seed=0):
    return draw_captioned_pictures(batch_size, generator=torch.Generator().manual_seed(seed))


# --- data ----------------------------------------------------------------------------------------


def test_each_picture_has_a_true_caption_with_its_mentions_and_both_are_drawn():
    batch = draw(60)
    orders = []
    for tokens, mentions, scene in zip(
        batch.tgt.tolist(), batch.mentions.tolist(), batch.scenes, strict=True
    ):
        end = tokens.index(EOS_ID)
        assert tokens[0] == BOS_ID
        assert set(tokens[end + 1 :]) <= {PAD_ID}
        words = tuple(VOCABULARY.decode(tokens[1:end]))
        orders.append(true_captions(scene).index(words))
        assert mentions[1:end] == list(mentioned_shapes(words, first=orders[-1]))
        assert {mentions[0], *mentions[end:]} == {-1}
    assert 15 < sum(orders) < 45
    assert PAD_ID in batch.tgt  # captions differ in length


def test_pictures_show_the_scenes():
    batch = draw(5)
    assert batch.pictures.shape == (5, 3, SIDE, SIDE)
    for picture, scene in zip(batch.pictures, batch.scenes, strict=True):
        clean = render(scene)
        assert (picture - clean).abs().mean() < 0.05
        assert (picture - clean).std() > 0.01  # there is noise


def test_same_seed_same_batch():
    one, same, other = draw(4), draw(4), draw(4, seed=1)
    assert torch.equal(one.pictures, same.pictures)
    assert torch.equal(one.tgt, same.tgt)
    assert not torch.equal(one.pictures, other.pictures)


def test_an_empty_batch_is_rejected():
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        draw(0)


# --- model ---------------------------------------------------------------------------------------


def test_context_is_the_mean_of_all_regions():
    encoder = ConvEncoder(6, channels=4)
    encoded = encoder(torch.rand(2, 3, 32, 16))
    assert encoded.memory.shape == (2, 8 * 4, 6)
    assert encoded.mask.shape == (2, 32)
    assert encoded.mask.all()
    torch.testing.assert_close(encoded.context, encoded.memory.mean(1))


def test_encoder_equals_its_formula():
    encoder = ConvEncoder(6, channels=4).double()
    pictures = torch.rand(2, 3, 8, 12, dtype=torch.float64)
    located = torch.empty(2, 5, 8, 12, dtype=torch.float64)
    located[:, :3] = pictures * 2 - 1
    for i in range(8):
        for j in range(12):
            located[:, 3, i, j] = -1 + 2 * i / 7
            located[:, 4, i, j] = -1 + 2 * j / 11
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    x = located
    for index, (stride, padding) in enumerate([(2, 2), (2, 1), (1, 1)]):
        convolution, norm = encoder.layers[3 * index], encoder.layers[3 * index + 1]
        x = F.conv2d(x, convolution.weight, convolution.bias, stride=stride, padding=padding)
        mean = x.mean(dim=(1, 2, 3), keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=(1, 2, 3), keepdim=True)
        x = (x - mean) / (variance + 1e-5).sqrt()
        x = F.relu(x * norm.weight[:, None, None] + norm.bias[:, None, None])
    expected = x.permute(0, 2, 3, 1).reshape(2, -1, 6)
    torch.testing.assert_close(encoder(pictures).memory, expected)


@pytest.mark.parametrize("kind", [RecurrentDecoder, AttentionDecoder])
def test_model_sees_the_picture_and_every_parameter_gets_a_gradient(kind):
    encoder, batch = ConvEncoder(16, channels=8), draw()
    model = CaptionModel(encoder, kind(len(VOCABULARY.tokens), 12, 24, encoder.d_memory))
    logits = model(batch.pictures, batch.tgt[:, :-1])
    expected = model.decoder(batch.tgt[:, :-1], encoder(batch.pictures))
    assert torch.equal(logits, expected)
    assert not torch.allclose(model(batch.pictures.flip(0), batch.tgt[:, :-1]), logits)
    assert_every_parameter_gets_a_gradient(model, logits, batch.tgt[:, 1:])


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 1, 8, 8), (0, 3, 8, 8), (1, 3, 0, 8)])
def test_what_is_no_picture_is_rejected(shape):
    with pytest.raises(ValueError, match="pictures must be"):
        ConvEncoder(4)(torch.zeros(shape))
