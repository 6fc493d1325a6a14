"""The interactive figures of the book, by name: who checks their data, and what draws them."""

from dataclasses import dataclass

from course_book.alignment_explorer import AlignmentExplorer
from course_book.attention_cost import AttentionCost
from course_book.beam_search import BeamSearch
from course_book.bend_curve import BendCurve
from course_book.bleu_calculator import BLEUCalculator
from course_book.bottleneck import Bottleneck
from course_book.depth_profile import DepthProfiles
from course_book.figure_data import FigureData
from course_book.four_norms import FourNorms
from course_book.generation_steps import GenerationSteps
from course_book.gru_gates import GRUGates
from course_book.kv_cache_steps import KVCacheSteps
from course_book.label_smoothing import LabelSmoothing
from course_book.mask_builder import MaskBuilder
from course_book.mlm_guesser import MLMGuesser
from course_book.multi_head import MultiHead
from course_book.picture_reader import PictureReader
from course_book.position_clocks import PositionClocks
from course_book.prefix_slider import PrefixSlider
from course_book.query_key_value import QueryKeyValue
from course_book.transformer_flow import TransformerFlow
from course_book.warm_up_schedule import WarmUpSchedule
from course_book.word_neighbours import WordNeighbours


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that the book can show.

    Attributes:
        model: The class that checks the figure's data and tabulates it.
        scripts: Its classic scripts under ``_static/figures``, in the order in which they run.
        styles: Its stylesheets there.
    """

    model: type[FigureData]
    scripts: tuple[str, ...]
    styles: tuple[str, ...] = ()


FIGURES: dict[str, Figure] = {
    "alignment-explorer": Figure(
        model=AlignmentExplorer,
        scripts=("elements.js", "alignment-explorer.js"),
        styles=("alignment-explorer.css",),
    ),
    "attention-cost": Figure(
        model=AttentionCost,
        scripts=("elements.js", "attention-cost.js"),
        styles=("attention-cost.css",),
    ),
    "beam-search": Figure(
        model=BeamSearch,
        scripts=("elements.js", "beam-search/search.js", "beam-search.js"),
        styles=("beam-search.css",),
    ),
    "bend-curve": Figure(
        model=BendCurve,
        scripts=("elements.js", "bend-curve.js"),
        styles=("bend-curve.css",),
    ),
    "bleu-calculator": Figure(
        model=BLEUCalculator,
        scripts=("elements.js", "bleu-calculator/bleu.js", "bleu-calculator.js"),
        styles=("bleu-calculator.css",),
    ),
    "bottleneck": Figure(
        model=Bottleneck,
        scripts=("elements.js", "bottleneck.js"),
        styles=("bottleneck.css",),
    ),
    "depth-profile": Figure(
        model=DepthProfiles,
        scripts=("elements.js", "depth-profile.js"),
        styles=("depth-profile.css",),
    ),
    "four-norms": Figure(
        model=FourNorms,
        scripts=("elements.js", "four-norms.js"),
        styles=("four-norms.css",),
    ),
    "generation-steps": Figure(
        model=GenerationSteps,
        scripts=("elements.js", "generation-steps/decoder.js", "generation-steps.js"),
        styles=("generation-steps.css",),
    ),
    "gru-gates": Figure(
        model=GRUGates,
        scripts=("elements.js", "gru-gates/cell.js", "gru-gates.js"),
        styles=("gru-gates.css",),
    ),
    "kv-cache": Figure(
        model=KVCacheSteps,
        scripts=("elements.js", "kv-cache.js"),
        styles=("kv-cache.css",),
    ),
    "label-smoothing": Figure(
        model=LabelSmoothing,
        scripts=("elements.js", "label-smoothing.js"),
        styles=("label-smoothing.css",),
    ),
    "mask-builder": Figure(
        model=MaskBuilder,
        scripts=("elements.js", "mask-builder/leak.js", "mask-builder.js"),
        styles=("mask-builder.css",),
    ),
    "mlm-guesser": Figure(
        model=MLMGuesser,
        scripts=("elements.js", "mlm-guesser.js"),
        styles=("mlm-guesser.css",),
    ),
    "multi-head": Figure(
        model=MultiHead,
        scripts=("elements.js", "multi-head.js"),
        styles=("multi-head.css",),
    ),
    "picture-reader": Figure(
        model=PictureReader,
        scripts=("elements.js", "picture-reader.js"),
        styles=("picture-reader.css",),
    ),
    "position-clocks": Figure(
        model=PositionClocks,
        scripts=("elements.js", "position-clocks.js"),
        styles=("position-clocks.css",),
    ),
    "prefix-slider": Figure(
        model=PrefixSlider,
        scripts=("elements.js", "prefix-slider.js"),
        styles=("prefix-slider.css",),
    ),
    "query-key-value": Figure(
        model=QueryKeyValue,
        scripts=(
            "elements.js",
            "query-key-value/attention.js",
            "query-key-value/bars.js",
            "query-key-value/arcs.js",
            "query-key-value/divisor.js",
            "query-key-value.js",
        ),
    ),
    "transformer-flow": Figure(
        model=TransformerFlow,
        scripts=("elements.js", "transformer-flow.js"),
        styles=("transformer-flow.css",),
    ),
    "warm-up-schedule": Figure(
        model=WarmUpSchedule,
        scripts=("elements.js", "warm-up-schedule.js"),
        styles=("warm-up-schedule.css",),
    ),
    "word-neighbours": Figure(
        model=WordNeighbours,
        scripts=("elements.js", "word-neighbours.js"),
        styles=("word-neighbours.css",),
    ),
}
