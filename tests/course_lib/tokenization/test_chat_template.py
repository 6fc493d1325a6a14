"""Does a chat template write what `transformers` writes, and nothing that it should not reach?"""

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from course_lib.models.pretrained.gguf import GGUFFile
from course_lib.tokenization.chat_template import render_chat

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "  What is <b>attention</b>?\n"},
    {"role": "assistant", "content": "A weighted mean."},
    {"role": "user", "content": "Of what? «é»"},
]
TEMPLATES = {
    "plain": "{% for m in messages %}<{{ m['role'] }}>{{ m.content | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}",
    "blocks": """{{ bos_token }}
    {%- for m in messages %}
        {% if m.role == 'system' %}
            {% continue %}
        {% endif %}
        {{ loop.index }} {{ m | tojson }}
    {% endfor %}
    """,
}


def peers(template, messages, add_generation_prompt):
    """Return the text that ``transformers`` renders."""
    (text,), _ = render_jinja_template(
        conversations=[messages],
        chat_template=template,
        add_generation_prompt=add_generation_prompt,
        bos_token="<s>",
    )
    return text


@pytest.mark.parametrize("add_generation_prompt", [True, False])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_conversation_is_written_as_by_transformers(template, add_generation_prompt):
    settings = {"add_generation_prompt": add_generation_prompt, "bos_token": "<s>"}
    assert render_chat(template, MESSAGES, **settings) == peers(
        template, MESSAGES, add_generation_prompt
    )


@pytest.mark.parametrize("messages", [MESSAGES, MESSAGES[1:2]])
def test_smollm2s_template_adds_a_system_message_if_there_is_none(smollm2, messages):
    template = GGUFFile(smollm2).settings["tokenizer.chat_template"]
    text = render_chat(template, messages)
    assert text == peers(template, messages, True)
    assert ("named SmolLM" in text) == (messages[0]["role"] != "system")
    assert text.endswith("<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''.__class__.__base__ }}",
        "{% set _ = messages.append(1) %}",
        "{{ raise_exception('no system message, please') }}",
        "{% for m in messages %}",
        "{% include 'file' %}",
    ],
)
def test_broken_or_prying_template_is_an_error(template):
    messages = list(MESSAGES)
    with pytest.raises(ValueError, match="the chat template can't write these messages: "):
        render_chat(template, messages)
    assert messages == MESSAGES
