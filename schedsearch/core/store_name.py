"""What a user writes for a tuning store; loads no database library, as every command reads it."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

DEFAULT_STORE = "schedsearch.sqlite"

STORE = "SCHEDSEARCH_STORE"
"""The variable of the environment that names the store, for commands and for kernels."""

SECRET = re.compile(r"pass|pwd|secret|token|credential|private|api_?key|scram", re.IGNORECASE)
"""In the name of a URL's parameter. libpq has `password`, `sslpassword`, `oauth_client_secret`
and `scram_client_key`; what a later one has will be called something like that."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
_USER = re.compile(r"(://[^:@]*:).*(?=@)", re.DOTALL)
_VALUE = re.compile(r"([?&;]([^=&;]*)=)[^&;]*")


def without_password(text: str) -> str:
    """`text` as it can be shown: secrets of the URL in it are `***`. It may be what somebody just
    meant to be one, which SQLAlchemy cannot parse."""
    return _URL.sub(lambda found: _hidden(found[0]), text)


def _hidden(url: str) -> str:
    hidden = _USER.sub(r"\1***", url)
    return _VALUE.sub(lambda v: f"{v[1]}***" if SECRET.search(unquote_plus(v[2])) else v[0], hidden)
