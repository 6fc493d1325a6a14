"""The interactive figures of the book, by name: who checks their data, and what draws them."""

from dataclasses import dataclass

from course_book.figures.attention_cost.data import AttentionCost
from course_book.figures.attention_plane.data import AttentionPlane
from course_book.figures.beam_search.data import BeamSearch
from course_book.figures.beam_translator.data import BeamTranslator
from course_book.figures.bend_curve.data import BendCurve
from course_book.figures.bleu_calculator.data import BLEUCalculator
from course_book.figures.bottleneck.data import Bottleneck
from course_book.figures.bpe_merges.data import BPEMerges
from course_book.figures.depth_profile.data import DepthProfiles
from course_book.figures.figure_data import FigureData
from course_book.figures.four_norms.data import FourNorms
from course_book.figures.generation_steps.data import GenerationSteps
from course_book.figures.gru_gates.data import GRUGates
from course_book.figures.kv_cache.data import KVCacheSteps
from course_book.figures.label_smoothing.data import LabelSmoothing
from course_book.figures.living_captioner.data import LivingCaptioner
from course_book.figures.living_decoder.data import LivingDecoder
from course_book.figures.living_transformer.data import LivingTransformer
from course_book.figures.mask_builder.data import MaskBuilder
from course_book.figures.mlm_guesser.data import MLMGuesser
from course_book.figures.multi_head.data import MultiHead
from course_book.figures.norm_sphere.data import NormSphere
from course_book.figures.position_clocks.data import PositionClocks
from course_book.figures.prefix_slider.data import PrefixSlider
from course_book.figures.query_key_value.data import QueryKeyValue
from course_book.figures.training_scrubber.data import TrainingScrubber
from course_book.figures.transformer_flow.data import TransformerFlow
from course_book.figures.warm_up_schedule.data import WarmUpSchedule
from course_book.figures.word_neighbours.data import WordNeighbours

SHARED_SCRIPTS = ("elements.js", "arithmetic.js", "controls.js")
"""What all figures' scripts build on; they run before them."""

TRANSFORMER_ENGINE = tuple(
    f"engine/{part}.js" for part in ("matrices", "attention", "weights", "transformer", "greedy")
)
"""What runs a Transformer in the page, in the order in which it is loaded."""

_SENTENCE_FORM = ("engine/loading.js", "living-transformer/sentence-form.js")
"""What begins with a sentence, and loads a model for it."""

_OWN_MODEL = "living-transformer/own-model.js"

_DRAGGING = ("dragging/handle.js", "dragging/plane.js")

_WORKBENCH = tuple(
    f"living-transformer/{part}.js"
    for part in (
        *("words", "stages", "surgery", "truth", "swatches", "drawing", "tables", "results"),
        *("player", "lens-attention", "lens-vectors", "lens", "workbench"),
    )
)

_ATTENTION_DECODER = (
    *(f"engine/{part}.js" for part in ("matrices", "attention", "weights")),
    *("gru-gates/cell.js", "engine/attention-decoder.js"),
    *(f"living-transformer/{part}.js" for part in ("words", "swatches", "tables", "results")),
    *(f"living-decoder/{part}.js" for part in ("writing", "word-player", "score", "next-words")),
)
"""What runs and shows a decoder that looks before each word, whatever it looks at."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that the book can show; its folder holds ``data.py``, ``NAME.js`` and ``NAME.css``.

    Attributes:
        model: The class that checks the figure's data and tabulates it.
        parts: Further classic scripts of the folder, in the order in which they run, before
            ``NAME.js``.
        shared: Scripts that figures share and not all need, by their addresses; they run before
            the figure's own.
        styles: Figures whose style it has besides its own.
        deferred: Scripts that the figure itself loads when they are wanted, likewise; the page
            tells it where they lie.
        wide: Whether it takes the margin as well, where a page has one.
    """

    model: type[FigureData]
    parts: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    wide: bool = False


FIGURES: dict[str, Figure] = {
    "attention-cost": Figure(model=AttentionCost),
    "attention-plane": Figure(model=AttentionPlane, shared=_DRAGGING),
    "beam-search": Figure(model=BeamSearch, parts=("search.js", "tree.js", "drawing.js")),
    "beam-translator": Figure(
        model=BeamTranslator,
        shared=(
            *(*_SENTENCE_FORM, "beam-search/search.js", "beam-search/tree.js"),
            "beam-search/drawing.js",
        ),
        styles=("beam-search", "living-transformer"),
        deferred=(*TRANSFORMER_ENGINE, "engine/followers.js", "living-transformer/words.js"),
    ),
    "bend-curve": Figure(model=BendCurve, shared=("dragging/handle.js",)),
    "bleu-calculator": Figure(model=BLEUCalculator, parts=("bleu.js",)),
    "bottleneck": Figure(model=Bottleneck),
    "bpe-merges": Figure(model=BPEMerges),
    "depth-profile": Figure(model=DepthProfiles),
    "four-norms": Figure(model=FourNorms),
    "generation-steps": Figure(
        model=GenerationSteps,
        shared=("engine/loading.js", _OWN_MODEL),
        styles=("living-transformer",),
        deferred=(
            *(f"engine/{part}.js" for part in ("matrices", "attention", "weights", "decoder-lm")),
            *("engine/sampling.js", "engine/file-checks.js", "engine/decoder-lm-file.js"),
            "generation-steps/writer.js",
        ),
    ),
    "gru-gates": Figure(model=GRUGates, parts=("cell.js",)),
    "kv-cache": Figure(model=KVCacheSteps),
    "label-smoothing": Figure(model=LabelSmoothing, shared=("dragging/handle.js",)),
    "living-captioner": Figure(
        model=LivingCaptioner,
        parts=("picture.js", "board.js"),
        shared=("engine/loading.js",),
        styles=("living-transformer", "living-decoder"),
        deferred=(
            *(*_ATTENTION_DECODER, "engine/picture-encoder.js"),
            "living-captioner/reader.js",
        ),
    ),
    "living-decoder": Figure(
        model=LivingDecoder,
        shared=_SENTENCE_FORM,
        styles=("living-transformer",),
        deferred=(
            *(*_ATTENTION_DECODER, "engine/recurrent-encoder.js"),
            *(f"living-decoder/{part}.js" for part in ("alignment-table", "source-look", "desk")),
        ),
    ),
    "living-transformer": Figure(
        model=LivingTransformer,
        parts=("questions.js",),
        shared=(*_SENTENCE_FORM, _OWN_MODEL),
        wide=True,
        deferred=(
            *(*TRANSFORMER_ENGINE, "engine/file-checks.js", "engine/translator-file.js"),
            *_WORKBENCH,
        ),
    ),
    "mask-builder": Figure(model=MaskBuilder, parts=("leak.js",)),
    "mlm-guesser": Figure(
        model=MLMGuesser,
        shared=(*_SENTENCE_FORM, _OWN_MODEL),
        styles=("living-transformer",),
        deferred=(
            *(f"engine/{part}.js" for part in ("matrices", "attention", "weights", "masked-lm")),
            *("engine/word-pieces.js", "engine/file-checks.js", "engine/masked-lm-file.js"),
            *("living-transformer/words.js", "mlm-guesser/reading.js", "mlm-guesser/workbench.js"),
        ),
    ),
    "multi-head": Figure(model=MultiHead),
    "norm-sphere": Figure(model=NormSphere, parts=("view.js",), shared=("dragging/handle.js",)),
    "position-clocks": Figure(model=PositionClocks),
    "prefix-slider": Figure(model=PrefixSlider),
    "query-key-value": Figure(
        model=QueryKeyValue, parts=("attention.js", "bars.js", "arcs.js", "divisor.js")
    ),
    "training-scrubber": Figure(
        model=TrainingScrubber,
        shared=("engine/loading.js",),
        deferred=tuple(
            f"engine/{part}.js" for part in ("matrices", "attention", "weights", "attention-reader")
        ),
    ),
    "transformer-flow": Figure(model=TransformerFlow),
    "warm-up-schedule": Figure(model=WarmUpSchedule),
    "word-neighbours": Figure(model=WordNeighbours, parts=("map.js",)),
}
