"""What a function keeps from one call to the next has a bound."""

import ast

import pytest

from tests.repo.checkout import texts


def unbounded(code: str) -> list[str]:
    """Name functions whose results are kept without bound, one for each argument.

    Those inside a function live as long as its call, and one without parameters has one result.
    """
    return [
        one.name
        for one in ast.parse(code).body
        if isinstance(one, ast.FunctionDef)
        and (one.args.args or one.args.kwonlyargs)
        and any(ast.unparse(by) in ("cache", "lru_cache(None)") for by in one.decorator_list)
    ]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("@cache\ndef f(size): ...", ["f"]),
        ("@lru_cache(None)\ndef f(*, size): ...", ["f"]),
        ("@lru_cache(64)\ndef f(size): ...", []),
        ("@cache\ndef f(): ...", []),
    ],
)
def test_cache_without_bound_is_found(code: str, found: list[str]) -> None:
    """R50: the check itself."""
    assert unbounded(code) == found


def test_no_function_keeps_results_without_bound() -> None:
    """R50: memory of a function does not grow with the documents that it has seen."""
    kept = {path: unbounded(code) for path, code in texts("functions/*.py").items()}

    assert {path: names for path, names in kept.items() if names} == {}
