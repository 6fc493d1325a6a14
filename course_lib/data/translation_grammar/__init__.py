"""A synchronous grammar of English and French: sentences, translations, true alignments.

``english_french`` draws pairs and parses sentences. ``lexicon``, ``lexical_rules`` and
``phrase_rules`` describe the languages, ``synchronous_grammar`` is the formalism; ``realization``
and ``surface_form`` turn a derivation into a ``sentence_pair``. Imports no other room.
"""
