"""Search by meaning: MiniLM in 8 bits and the sections' vectors, where its weights are installed.

``js/search-meaning.js`` reads both files. A file is the length of its header in four bytes, the
header as JSON, and the numbers. A matrix has a scale for each row, as float32, then its rows as
int8; a vector is float32 alone.
"""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from sphinx.application import Sphinx
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_book.site.offline import is_site
from course_book.site.search_entries import FILE as ENTRIES
from course_book.site.search_entries import SECTION, Entry
from course_lib.models.bert import BertModel, mean_pooling
from course_lib.models.pretrained.bert import from_huggingface, read_tokenizer
from course_lib.models.pretrained.installed import minilm_folder
from course_lib.tokenization.wordpiece import WordPiece

PAGE = "book/sentence-vectors"
"""The chapter that explains the search; a book without it searches by words alone."""
MODEL, VECTORS = "meaning/minilm.bin", "meaning/sections.bin"
KEPT = "meaning.pt"  # in the folder of doctrees
LONGEST = 64  # tokens of a section that are read
_TITLES = {"Check yourself", "Common mistakes", "Exercises", "What next"}
_LEFT_OUT = ("api-", "bibliography", "sentence-vectors", "status")


def pack(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bytes:
    """Return the bytes of a file with this header and these named tensors, matrices in 8 bits.

    The header also gets ``tensors``: for each name the tensor's first byte and its shape.
    """
    places, parts, begin = {}, [], 0
    for name, tensor in tensors.items():
        if tensor.dim() == 2:
            scales = tensor.abs().amax(dim=1).clamp(min=1e-12) / 127
            whole = (tensor / scales[:, None]).round().to(torch.int8)
            data = scales.numpy().tobytes() + whole.numpy().tobytes()
        else:
            data = tensor.numpy().tobytes()
        data += bytes(-len(data) % 4)
        places[name] = [begin, *tensor.shape]
        parts.append(data)
        begin += len(data)
    head = json.dumps({**header, "tensors": places}).encode()
    head += b" " * (-len(head) % 4)
    return struct.pack("<I", len(head)) + head + b"".join(parts)


def model_file(model: BertModel, tokenizer: WordPiece) -> bytes:
    """Return the bytes of the file with a model's weights and its tokenizer's vocabulary."""
    config = {"heads": model.config.num_heads, "eps": model.config.eps, "longest": LONGEST}
    tensors = {n: t for n, t in model.state_dict().items() if not n.startswith("pooler.")}
    return pack({"config": config, "vocabulary": tokenizer.vocabulary.tokens}, tensors)


@torch.no_grad()
def encode_texts(texts: Sequence[str], model: BertModel, tokenizer: WordPiece) -> Tensor:
    """Return the sentence vectors of texts, of length 1: ``(texts, d_model)``."""
    cls, sep = tokenizer.vocabulary.encode(["[CLS]", "[SEP]"])
    rows = [torch.tensor([cls, *tokenizer.encode(t)[: LONGEST - 2], sep]) for t in texts]
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    vectors = torch.empty(len(rows), model.config.d_model)
    for start in range(0, len(rows), 16):
        chosen = by_length[start : start + 16]
        ids = pad_sequence([rows[i] for i in chosen], batch_first=True)
        vectors[chosen] = mean_pooling(model(ids).hidden, ids != model.config.pad_id)
    return F.normalize(vectors, dim=-1)


def searched_sections(entries: Sequence[Entry]) -> dict[int, str]:
    """Return sections' texts, to be encoded for search by meaning, by index in ``entries``."""
    return {
        place: f"{entry['of']}. {entry['title']}. {entry['text']}"
        for place, entry in enumerate(entries)
        if entry["kind"] == SECTION
        and entry["title"] not in _TITLES
        and not Path(entry["page"]).name.startswith(_LEFT_OUT)
    }


def find_minilm() -> Path | None:
    """Return the folder of MiniLM; None if it is not installed."""
    try:
        return minilm_folder()
    except FileNotFoundError:
        return None


def load_minilm(folder: Path) -> tuple[BertModel, WordPiece]:
    """Load MiniLM (in evaluation mode) and its tokenizer from the folder of its weights."""
    return from_huggingface(folder, BertModel).eval(), read_tokenizer(folder)


def _model_file(app: Sphinx) -> Path | None:
    """Return the model's file in the site, written at the first call.

    None without installed weights, and in a book without the chapter ``PAGE``.
    """
    folder = find_minilm()
    if folder is None or not is_site(app) or PAGE not in app.env.found_docs:
        return None
    file = Path(app.outdir) / "_static" / MODEL
    if not file.exists() or file.stat().st_mtime < Path(__file__).stat().st_mtime:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(model_file(*load_minilm(folder)))
    return file


def _name_files(app: Sphinx, pagename: str, *_: object) -> None:
    """Name the files of model and vectors in each page, so that it offers search by meaning."""
    file = _model_file(app)
    if file:
        named = {"model": MODEL, "vectors": VECTORS, "bytes": file.stat().st_size}
        app.add_js_file(None, body=f"window.courseMeaning = {json.dumps(named)};")


def _write_vectors(app: Sphinx, error: Exception | None) -> None:
    """Write the sentence vectors of all sections; an earlier build's are reused for equal texts."""
    folder = find_minilm()
    if error or folder is None or _model_file(app) is None:
        return
    static, kept_file = Path(app.outdir) / "_static", Path(app.doctreedir) / KEPT
    script = (static / ENTRIES).read_text(encoding="utf-8")
    texts = searched_sections(json.loads(script[script.index("[") : script.rindex("]") + 1]))
    keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts.values()]
    kept = torch.load(kept_file, weights_only=True) if kept_file.exists() else {}
    fresh = {key: text for key, text in zip(keys, texts.values(), strict=True) if key not in kept}
    if fresh:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        vectors = encode_texts([*fresh.values()], *load_minilm(folder))
        kept.update(zip(fresh, vectors, strict=True))
        torch.set_num_threads(threads)
        torch.save({key: kept[key].clone() for key in keys}, kept_file)
    vectors = torch.stack([kept[key] for key in keys])
    (static / VECTORS).write_bytes(pack({"entries": [*texts]}, {"sections": vectors}))


def setup(app: Sphinx) -> None:
    """Have both files written; the vectors follow the search entries, whose texts they encode."""
    app.connect("html-page-context", _name_files)
    app.connect("build-finished", _write_vectors, priority=900)
