"""Addresses of a provider or an index: encrypted on their way, and without a password in them."""

from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def address_mistakes(address: str, *, path_allowed: bool) -> str:
    """Say what is wrong with an address; nothing if it may be used."""
    refused = f'"{address}" is not allowed'
    # Python drops line breaks from an address before it takes it apart.
    if any(character.isspace() or not character.isprintable() for character in address):
        return "holds spaces or line breaks"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return refused
    # Not shown: addresses stand in logs, in the functions' environment and in outputs.
    if "@" in parts.netloc:
        return "holds a user or a password"
    if parts.query or parts.fragment or address.endswith(("?", "#")):
        return "holds a query or a fragment, where keys have no place"
    is_encrypted = parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in LOOPBACK
    )
    if not parts.hostname or port == 0 or not is_encrypted:
        return refused
    return "" if path_allowed or parts.path in ("", "/") else refused
