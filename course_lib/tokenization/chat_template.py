"""Chat templates: from a conversation to one text, in the format of a model's training."""

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
    """Render a conversation with a model's chat template, a Jinja template.

    The template is not trusted: it runs in Jinja's sandbox and can access only the arguments.

    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> render_chat(template, [{"role": "user", "content": "Hello!"}])
    '<user>Hello!'

    Args:
        template: ``tokenizer.chat_template`` of a GGUF file, or ``chat_template`` of Hugging Face's
            ``tokenizer_config.json``.
        messages: The messages in order, each with its ``role`` (``system``, ``user`` or
            ``assistant``) and its ``content``.
        add_generation_prompt: Whether to append the tokens that begin the assistant's answer.
        **others: More variables for the template, such as ``bos_token``.

    Returns:
        The text, with special tokens written out.

    Raises:
        ValueError: The template is broken, does what the sandbox forbids, or rejects the messages.

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
    except Exception as error:  # a template may raise any error, such as ZeroDivisionError
        raise ValueError(f"the chat template can't write these messages: {error}") from error


def _reject(message: str) -> NoReturn:
    """Stop a template that calls ``raise_exception``."""
    raise TemplateError(message)
