"""cdk.json -> its context, each key once. A file that cannot be read gets one line."""

import json
from pathlib import Path
from typing import Any

from infrastructure.config.mistakes import ConfigError, Mistake

_ALLOWED = '{"app": ..., "context": {"stages": {...}}}'


def read_context(path: Path) -> dict[str, Any]:
    """Return the context of a cdk.json."""
    try:
        parsed = json.loads(path.read_bytes().decode(), object_pairs_hook=_each_key_once)
    except FileNotFoundError as error:
        raise _wrong("is missing", f"a file in {path.parent.resolve().name}") from error
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is not UTF-8"
        raise _wrong(wrong, "save the file as UTF-8, without a byte order mark") from error
    except json.JSONDecodeError as error:
        raise _wrong(f"line {error.lineno}: is not JSON", error.msg) from error
    if not isinstance(parsed, dict):
        raise _wrong("is not an object", _ALLOWED)
    if "context" not in parsed:
        raise ConfigError([Mistake(("context",), "is missing", _ALLOWED)])
    if not isinstance(parsed["context"], dict):
        raise ConfigError([Mistake(("context",), "is not an object", _ALLOWED)])
    return parsed["context"]


def _wrong(wrong: str, allowed: str) -> ConfigError:
    return ConfigError([Mistake((), wrong, allowed)])


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        beside = ", ".join(key for key in found if key != twice) or "no other key"
        raise _wrong(f'key "{twice}" is there twice, beside {beside}', "each key once")
    return found
