"""An engine that cannot be had fails the build, and does not quietly prove nothing."""

from typing import Any

import pytest

from local.engines.errors import FetchError
from tests.contract.engines import engine_url


class _Offline:
    """A test's request on a machine without Maven."""

    def getfixturevalue(self, name: str) -> Any:
        raise FetchError(f"no {name} from Maven")


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_missing_engine_fails_in_ci_and_skips_elsewhere(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: with the reason in words."""
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match=r"sqs_url is not to be had, .*: no sqs_url from Maven"):
        engine_url(_Offline(), "sqs_url")  # type: ignore[arg-type]
