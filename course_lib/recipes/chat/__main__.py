"""Chat with SmolLM2 in the terminal; an empty line ends the conversation.

    python -m course_lib.recipes.chat

``course_lib.models.pretrained.installed`` describes the model and its limits.
"""

from course_lib.recipes.run_folder import require

require("typer")

from pathlib import Path
from typing import Annotated

import torch
import typer

from course_lib.generation.step_models import store_by_columns
from course_lib.models.pretrained import llama
from course_lib.models.pretrained.gguf import GGUFFile
from course_lib.models.pretrained.huggingface import read_config
from course_lib.models.pretrained.installed import smollm2_file
from course_lib.recipes.chat.conversation import Conversation
from course_lib.recipes.command_line import Seed, Threads, computing

app = typer.Typer(
    help="Talk to SmolLM2, a small language model: it writes fluently and knows little.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def chat(
    temperature: Annotated[
        float, typer.Option(min=0, help="Below 1: more cautious; 0: always the likeliest token.")
    ] = 0.7,
    top_p: Annotated[
        float, typer.Option(help="Draw from the likeliest tokens whose probabilities sum to this.")
    ] = 0.9,
    system: Annotated[
        str, typer.Option(help="The system message.", show_default="the model's own")
    ] = "",
    show_cache: Annotated[
        bool, typer.Option("--show-cache", help="Show bytes of the cache and time of each token.")
    ] = False,
    length: Annotated[
        int, typer.Option(min=1, help="Maximum number of tokens of an answer.")
    ] = 300,
    weights: Annotated[
        Path | None,
        typer.Option(help="Another GGUF file, or a Hugging Face folder.", show_default="SmolLM2's"),
    ] = None,
    seed: Seed = 0,
    threads: Threads = 0,
) -> None:
    """Talk to SmolLM2, a small language model: it writes fluently and knows little."""
    with computing("cpu", threads):
        talk = begin(weights or smollm2_file(), system, temperature, top_p, seed)
        typer.echo(
            "SmolLM2-135M, licence Apache 2.0, invents facts. An empty line ends the conversation."
            if weights is None
            else "An empty line ends the conversation."
        )
        while text := ask():
            for piece in talk.answer(text, max_new_tokens=length):
                typer.echo(piece.text, nl=False)
                if show_cache:
                    milliseconds = round(1000 * piece.seconds)
                    typer.secho(f"[{piece.cache_bytes:,} B, {milliseconds} ms]", dim=True, nl=False)
            typer.echo()


def begin(path: Path, system: str, temperature: float, top_p: float, seed: int) -> Conversation:
    """Load a model from a GGUF file or a Hugging Face folder, and begin a conversation.

    An empty ``system`` message leaves the model's own; the other arguments are ``Conversation``'s.
    """
    if path.is_dir():
        template, tokenizer = llama.read_chat_template(path), llama.read_tokenizer(path)
        model, end = llama.from_huggingface(path), read_config(path)["eos_token_id"]
    else:
        file = GGUFFile(path)
        if "tokenizer.chat_template" not in file.settings:
            raise ValueError(f"{path} must have a chat template, it has none")
        template = file.settings["tokenizer.chat_template"]
        model, tokenizer = file.load_model(), file.load_tokenizer()
        end = file.settings["tokenizer.ggml.eos_token_id"]
    store_by_columns(model)
    return Conversation(
        model=model,
        tokenizer=tokenizer,
        template=template,
        end=tokenizer.tokens[end],
        messages=[{"role": "system", "content": system}] if system else [],
        temperature=temperature,
        top_p=top_p,
        generator=torch.Generator().manual_seed(seed),
    )


def ask() -> str:
    """Return the next line that the user types; an empty one at the end of input or at Ctrl-C."""
    try:
        return input("> ")
    except (EOFError, KeyboardInterrupt):
        return ""


if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.chat")
