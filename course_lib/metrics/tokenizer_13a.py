"""The 13a tokeniser for BLEU: NIST's ``mteval-v13a``, in use since 2009.

A BLEU score depends on the tokens, so only scores by the same tokeniser can be compared.
"""

import re

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}

# Applied in this order; each puts spaces around something that is to be a token.
_RULES = (
    (re.compile(r"([{-~\[-`!-&(-+:-@/])"), r" \1 "),  # signs, but for ' - . ,
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # . and , unless after a digit
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # . and , unless before a digit
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # - after a digit
)


def tokenize_13a(text: str) -> list[str]:
    """Split a sentence into words, numbers and punctuation, for languages that write spaces.

    Full stops and commas inside numbers stay there, and so do apostrophes and hyphens in words.

    >>> tokenize_13a("It's 3.5 km, isn't it?")
    ["It's", '3.5', 'km', ',', "isn't", 'it', '?']

    Source: NIST mteval-v13a.pl, NormalizeText; Post (2018), "A call for clarity in reporting BLEU
    scores", section 2; chapter "BLEU".
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, sign in _ENTITIES.items():
            text = text.replace(entity, sign)
    text = f" {text} "  # the rules look at the neighbours of a sign
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.split()
