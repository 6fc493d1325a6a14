"""Does the tree show what the search did: its results, its log-probabilities, what it dropped?"""

import itertools

import pytest
import torch

from course_lib.analysis.beam_tree import beam_tree
from course_lib.generation.beam_search import beam_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import UncachedModel

VOCAB_SIZE, START, END = 6, 1, 0
PROMPT = torch.tensor([[START]])


def bigram_model(seed):
    table = torch.randn(
        VOCAB_SIZE, VOCAB_SIZE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return UncachedModel(lambda tokens: table[tokens]), table.log_softmax(dim=-1)


def options(beam_size):
    return {
        "beam_size": beam_size,
        "eos_id": END,
        "max_new_tokens": 5,
        "length_penalty": PowerPenalty(alpha=0.5),
    }


def path(tree, node):
    tokens = []
    while node.parent is not None:
        tokens.append(node.token)
        node = tree[node.parent]
    return tuple(reversed(tokens))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_tree_has_the_results_of_the_search_and_true_log_probabilities(seed, beam_size):
    model, table = bigram_model(seed)
    tree = beam_tree(model, PROMPT, **options(beam_size))
    found = beam_search(bigram_model(seed)[0], PROMPT, **options(beam_size), num_results=beam_size)[
        0
    ]
    results = sorted((node for node in tree if node.fate == "result"), key=lambda n: n.rank)
    assert [path(tree, node) for node in results] == [h.tokens for h in found]
    assert [node.log_probability for node in results] == pytest.approx(
        [h.log_probability for h in found], abs=1e-5
    )
    for node in tree:
        tokens = (START, *path(tree, node))
        expected = sum(float(table[a, b]) for a, b in itertools.pairwise(tokens))
        assert node.log_probability == pytest.approx(expected, abs=1e-9)
        assert node.length == len(tokens) - 1


@pytest.mark.parametrize("beam_size", [1, 3])
def test_nodes_have_one_parent_before_them_and_the_beam_has_its_size(beam_size):
    tree = beam_tree(bigram_model(1)[0], PROMPT, **options(beam_size))
    assert tree[0].parent is None
    assert all(node.parent < index for index, node in enumerate(tree) if index)
    assert len({(node.parent, node.token) for node in tree}) == len(tree)
    for length in range(1, 6):
        kept = [n for n in tree if n.length == length and n.fate == "kept"]
        assert len(kept) <= beam_size
    assert any(n.fate == "dropped" for n in tree)


def test_every_extended_node_has_at_least_as_many_children_as_candidates():
    tree = beam_tree(bigram_model(0)[0], PROMPT, **options(2), candidates=4)
    read = {node.parent for node in tree if node.parent is not None}
    for parent in read:
        assert sum(node.parent == parent for node in tree) >= 4


def test_several_prompts_are_rejected():
    with pytest.raises(ValueError, match=r"prompt must be \(1, prompt_len\), got \(2, 1\)"):
        beam_tree(bigram_model(0)[0], PROMPT.expand(2, 1), **options(2))
