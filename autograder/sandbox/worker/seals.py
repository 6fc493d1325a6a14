"""Keyed digests of what is said: nobody says it who has not the key (BLAKE2, RFC 7693)."""

import secrets
from _blake2 import blake2b
from collections.abc import Iterable

SEAL_BYTES = 16
_KEY_BYTES = 32


def make_key() -> bytes:
    """Return a new secret."""
    return secrets.token_bytes(_KEY_BYTES)


class Seal:
    """Digests of the messages of one side, and of how many came before.

    Args:
        key: The secret, of at most 64 bytes.
        sender: Whose they are, in at most 16 bytes.
    """

    def __init__(self, key: bytes, sender: bytes) -> None:
        self._keyed = blake2b(key=key, person=sender, digest_size=SEAL_BYTES)
        self._count = 0

    def next(self, parts: Iterable[bytes | bytearray]) -> bytes:
        """Return the digest of the next message, whose parts these are."""
        digest = self._keyed.copy()
        digest.update(self._count.to_bytes(8, "big"))
        for part in parts:
            digest.update(part)
        self._count += 1
        return digest.digest()
