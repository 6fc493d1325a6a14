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

SHARED_SCRIPTS = ("elements.js", "controls.js")
"""What all figures' scripts build on; they run before them."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that the book can show: ``NAME.js`` and ``NAME.css`` under ``_static/figures``.

    Attributes:
        model: The class that checks the figure's data and tabulates it.
        parts: Classic scripts of its own in the folder ``NAME``, in the order in which they run,
            before ``NAME.js``.
    """

    model: type[FigureData]
    parts: tuple[str, ...] = ()


FIGURES: dict[str, Figure] = {
    "alignment-explorer": Figure(model=AlignmentExplorer),
    "attention-cost": Figure(model=AttentionCost),
    "beam-search": Figure(model=BeamSearch, parts=("search.js",)),
    "bend-curve": Figure(model=BendCurve),
    "bleu-calculator": Figure(model=BLEUCalculator, parts=("bleu.js",)),
    "bottleneck": Figure(model=Bottleneck),
    "depth-profile": Figure(model=DepthProfiles),
    "four-norms": Figure(model=FourNorms),
    "generation-steps": Figure(model=GenerationSteps, parts=("decoder.js",)),
    "gru-gates": Figure(model=GRUGates, parts=("cell.js",)),
    "kv-cache": Figure(model=KVCacheSteps),
    "label-smoothing": Figure(model=LabelSmoothing),
    "mask-builder": Figure(model=MaskBuilder, parts=("leak.js",)),
    "mlm-guesser": Figure(model=MLMGuesser),
    "multi-head": Figure(model=MultiHead),
    "picture-reader": Figure(model=PictureReader),
    "position-clocks": Figure(model=PositionClocks),
    "prefix-slider": Figure(model=PrefixSlider),
    "query-key-value": Figure(
        model=QueryKeyValue, parts=("attention.js", "bars.js", "arcs.js", "divisor.js")
    ),
    "transformer-flow": Figure(model=TransformerFlow),
    "warm-up-schedule": Figure(model=WarmUpSchedule),
    "word-neighbours": Figure(model=WordNeighbours),
}
