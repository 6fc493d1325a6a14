"""BERT with heads: for pre-training, and for classifying texts.

Dimensions: batch; length (tokens); d_model; vocab_size; num_labels. Heads return logits.
"""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.embedding import TokenEmbedding, keep_tied
from course_lib.layers.normalization import LayerNorm
from course_lib.models.bert import BertConfig, BertModel, init_weights
from course_lib.validation import check_at_least


class MaskedLanguageModelHead(nn.Module):
    """Predict the token at each position from its vector.

    One more layer transforms the vector, whose products with the embeddings of all tokens are the
    logits: tokens are read and predicted with the same weights.

    >>> import torch
    >>> head = MaskedLanguageModelHead(TokenEmbedding(vocab_size=9, d_model=4))
    >>> head(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 9])

    Args:
        embedding: The model's embedding; its weight is shared.
        eps: Added to the variance in the normalisation.

    Attributes:
        projection: ``nn.Linear(d_model, d_model)``, followed by GELU.
        norm: ``LayerNorm``, after the GELU.
        output_projection: ``nn.Linear(d_model, vocab_size)``; its weight is the embedding's.

    Raises:
        ValueError: ``eps`` is not positive.

    Source: Devlin et al. (2019), section 3.1, task 1; google-research/bert, run_pretraining.py;
        chapter "BERT".
    """

    def __init__(self, embedding: TokenEmbedding, *, eps: float = 1e-12) -> None:
        super().__init__()
        vocab_size, d_model = embedding.weight.shape
        self.projection = nn.Linear(d_model, d_model)
        self.norm = LayerNorm(d_model, eps=eps)
        self.output_projection = nn.Linear(d_model, vocab_size)
        self.output_projection.weight = embedding.weight

    def forward(self, hidden: Tensor) -> Tensor:
        """Return logits ``(..., vocab_size)`` for the last layer's vectors ``(..., d_model)``.

        The last product is the most expensive of the model. In training, pass only the vectors at
        masked positions, ``head(hidden[labels != -100])``.
        """
        transformed = self.norm(F.gelu(self.projection(hidden)))  # (..., d_model)
        return self.output_projection(transformed)  # (..., vocab_size)


class BertForMaskedLM(nn.Module):
    """BERT with the masked-language-model head alone.

    >>> import torch
    >>> config = BertConfig(vocab_size=9, num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> BertForMaskedLM(config)(torch.tensor([[1, 5, 3], [1, 7, 0]])).shape
    torch.Size([2, 3, 9])

    Args:
        config: Sizes and choices.

    Attributes:
        bert: ``BertModel``.
        masked_language_model: ``MaskedLanguageModelHead``, with the embedding's weight.

    Source: Devlin et al. (2019), section 3.1, task 1; chapter "BERT".
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config)
        self.masked_language_model = MaskedLanguageModelHead(
            self.bert.embeddings.tokens, eps=config.eps
        )
        keep_tied(self)
        init_weights(self, config.init_std)

    def tie_weights(self) -> None:
        """Share the embedding's weight with the head; see ``BertForPreTraining.tie_weights``."""
        self.masked_language_model.output_projection.weight = self.bert.embeddings.tokens.weight

    def forward(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Return logits ``(batch, length, vocab_size)``; the arguments are ``BertModel``'s."""
        return self.masked_language_model(self.bert(token_ids, segment_ids, mask).hidden)


class NextSentenceHead(nn.Module):
    """Classify whether the second sentence follows the first, from the vector of the pair.

    >>> import torch
    >>> NextSentenceHead(4)(torch.randn(3, 4)).shape
    torch.Size([3, 2])

    The attribute ``projection`` is ``nn.Linear(d_model, 2)``.

    Source: Devlin et al. (2019), section 3.1, task 2; chapter "BERT".
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.projection = nn.Linear(d_model, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        """Return logits ``(batch, 2)``: class 0, the second sentence follows; 1, it is random."""
        return self.projection(pooled)


class PreTrainingLogits(NamedTuple):
    """The logits of both heads.

    >>> import torch
    >>> logits = PreTrainingLogits(tokens=torch.zeros(2, 5, 9), next_sentence=torch.zeros(2, 2))
    >>> logits.next_sentence.shape
    torch.Size([2, 2])

    Attributes:
        tokens: ``(batch, length, vocab_size)``.
        next_sentence: ``(batch, 2)``: class 0, the second sentence follows; class 1, it is random.
    """

    tokens: Tensor
    next_sentence: Tensor


class BertForPreTraining(nn.Module):
    """BERT with both heads of its pre-training, on text without labels.

    >>> import torch
    >>> config = BertConfig(vocab_size=9, num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> logits = BertForPreTraining(config)(torch.tensor([[1, 5, 3], [1, 7, 0]]))
    >>> logits.tokens.shape, logits.next_sentence.shape
    (torch.Size([2, 3, 9]), torch.Size([2, 2]))

    Args:
        config: Sizes and choices.

    Attributes:
        bert: ``BertModel``.
        masked_language_model: ``MaskedLanguageModelHead``, with the embedding's weight.
        next_sentence: ``NextSentenceHead``.

    Source: Devlin et al. (2019), section 3.1; chapter "BERT".
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config)
        self.masked_language_model = MaskedLanguageModelHead(
            self.bert.embeddings.tokens, eps=config.eps
        )
        self.next_sentence = NextSentenceHead(config.d_model)
        keep_tied(self)
        init_weights(self, config.init_std)

    def tie_weights(self) -> None:
        """Share the embedding's weight with the masked-language-model head.

        Loading a state dict does so; call it after ``to_empty``, before an optimizer is made.
        """
        self.masked_language_model.output_projection.weight = self.bert.embeddings.tokens.weight

    def forward(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> PreTrainingLogits:
        """Return the logits of both heads; the arguments are those of ``BertModel.forward``."""
        output = self.bert(token_ids, segment_ids, mask)
        return PreTrainingLogits(
            tokens=self.masked_language_model(output.hidden),
            next_sentence=self.next_sentence(output.pooled),
        )


def pretraining_loss(logits: PreTrainingLogits, labels: Tensor, next_labels: Tensor) -> Tensor:
    """Add the losses of both tasks, each a mean over its predictions, or 0 without any.

    The sum is a scalar in nats. ``labels``, int64 ``(batch, length)``, are the true tokens at
    masked positions and -100 elsewhere; ``next_labels``, int64 ``(batch,)``, are 0 if the second
    sentence follows, otherwise 1. Labels of other shapes are a ValueError.

    Source: Devlin et al. (2019), appendix A.2; chapter "BERT".
    """
    if labels.shape != logits.tokens.shape[:-1] or next_labels.shape != labels.shape[:1]:
        raise ValueError(
            f"labels and next_labels must have shapes {tuple(logits.tokens.shape[:-1])} and "
            f"{tuple(logits.tokens.shape[:1])}, "
            f"got {tuple(labels.shape)} and {tuple(next_labels.shape)}"
        )
    token_sum = F.cross_entropy(
        logits.tokens.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum"
    )
    masked = (labels != -100).sum().clamp(min=1)  # a batch of short texts may have none
    return token_sum / masked + F.cross_entropy(logits.next_sentence, next_labels)


class BertForSequenceClassification(nn.Module):
    """BERT with a head that gives each text a label, to be fine-tuned as a whole.

    To start from a pre-trained model: ``classifier.bert.load_state_dict(model.bert.state_dict())``.

    >>> import torch
    >>> config = BertConfig(vocab_size=9, num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> classifier = BertForSequenceClassification(config, num_labels=3)
    >>> classifier(torch.tensor([[1, 5, 3], [1, 7, 0]])).shape
    torch.Size([2, 3])

    Args:
        config: Sizes and choices.
        num_labels: Number of labels.

    Attributes:
        bert: ``BertModel``.
        dropout: ``nn.Dropout``, on the pooled vector.
        classifier: ``nn.Linear(d_model, num_labels)``.

    Raises:
        ValueError: ``num_labels`` is smaller than 1.

    Source: Devlin et al. (2019), section 3.2 and figure 4; chapter "BERT".
    """

    def __init__(self, config: BertConfig, num_labels: int) -> None:
        super().__init__()
        check_at_least(1, num_labels=num_labels)
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.d_model, num_labels)
        init_weights(self.classifier, config.init_std)

    def forward(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Return logits ``(batch, num_labels)``; the arguments are those of ``BertModel``."""
        return self.classifier(self.dropout(self.bert(token_ids, segment_ids, mask).pooled))
