"""Chat templates: a conversation becomes one text, in the form on which a model was trained."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, str]],
    *,
    add_generation_prompt: bool = True,
    **others: Any,
) -> str:
    """Write a conversation as a model was trained to read it.

    The template comes with a model's file, from strangers: it runs in Jinja's sandbox, where it
    reaches nothing but the arguments, and changes none of them.

    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> render_chat(template, [{"role": "user", "content": "Hello!"}])
    '<user>Hello!'

    Args:
        template: In the language of Jinja, as ``tokenizer.chat_template`` of a GGUF file or
            ``chat_template`` of Hugging Face's ``tokenizer_config.json``.
        messages: First to last, each with its ``role``, ``system``, ``user`` or ``assistant``, and
            its ``content``.
        add_generation_prompt: End with the beginning of the assistant's answer.
        **others: What the template may read besides, such as ``bos_token``.

    Returns:
        The text, special tokens written out.

    Raises:
        ValueError: The template is broken, asks for what the sandbox forbids, or rejects the
            messages.

    Source: ``transformers``, utils/chat_template_utils.py.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, ensure_ascii=False, indent=indent
    )
    environment.globals["raise_exception"] = _reject
    try:
        return environment.from_string(template).render(
            messages=messages, add_generation_prompt=add_generation_prompt, **others
        )
    except Exception as error:  # a template can divide by zero, too
        raise ValueError(f"the chat template can't write these messages: {error}") from error


def _reject(message: str) -> NoReturn:
    raise TemplateError(message)
