"""The certificate that the API shows, checked before it listens."""

import ssl
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.service.settings.environ import name_of


def require_pair(cert: Path | None, key: Path | None) -> None:
    """Raise `InvalidInput` unless the files are a certificate and its key, or both are not set."""
    names = name_of("tls_cert"), name_of("tls_key")
    if cert is None and key is None:
        return
    if cert is None or key is None:
        missing = names[0] if cert is None else names[1]
        raise InvalidInput.at(missing, f"set it too: {' and '.join(names)} belong together")
    for name, file in zip(names, (cert, key), strict=True):
        try:
            file.read_bytes()
        except OSError as error:
            raise InvalidInput.at(name, f"{file}: {error.strerror}") from error
    try:
        # Without a passphrase OpenSSL would ask for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (ssl.SSLError, ValueError) as error:
        wanted = "a certificate and its key, in PEM and without a passphrase"
        reason = getattr(error, "reason", None) or error
        raise InvalidInput.at(names[0], f"give {wanted}: {reason}") from error
