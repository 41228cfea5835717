import base64
import json
import os
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from common.refused import Refused

NONCE = 12
SHORTEST = 12
DOES_NOT_FIT = "The pass phrase is another than the archive's, or the archive is damaged."


class Cipher:
    """AES-256-GCM with a key by scrypt. `about` says whose secret it is, and is authenticated."""

    def __init__(self, phrase: str, salt: bytes) -> None:
        self.salt = salt
        # 32 MB and a tenth of a second.
        key = Scrypt(salt=salt, length=32, n=2**15, r=8, p=1).derive(phrase.encode())
        self._cipher = AESGCM(key)

    def seal(self, value: Any, about: str) -> str:
        nonce = os.urandom(NONCE)
        text = json.dumps(value, sort_keys=True).encode()
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text, about.encode())).decode()

    def open(self, sealed: str, about: str) -> Any:
        """Raises Refused."""
        try:
            octets = base64.b64decode(sealed, validate=True)
            return json.loads(self._cipher.decrypt(octets[:NONCE], octets[NONCE:], about.encode()))
        except (InvalidTag, ValueError, TypeError, OverflowError) as error:
            raise Refused(DOES_NOT_FIT) from error
