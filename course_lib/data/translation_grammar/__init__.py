"""A synchronous grammar of English and French: sentences, translations, true alignments.

``english_french`` is the room's door: it draws pairs and parses sentences. ``lexicon``,
``lexical_rules`` and ``phrase_rules`` are the language, ``synchronous_grammar`` the formalism;
``realization`` and ``surface_form`` write a derivation out, as a ``sentence_pair``. Imports no
other room.
"""
