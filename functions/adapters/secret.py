"""The provider's key, from Secrets Manager and nowhere else."""

import json
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.failure import Failure, FailureError, FailureKind

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


class ApiKey:
    """Reads the secret once, and again when asked for a fresh one."""

    def __init__(self, client: "SecretsManagerClient", secret: str) -> None:
        self._client = client
        self._secret = secret
        self._key: str | None = None

    def __call__(self, fresh: bool) -> str:
        if self._key is None or fresh:
            self._key = self._read()
        return self._key

    def _read(self) -> str:
        try:
            text = self._client.get_secret_value(SecretId=self._secret)["SecretString"]
        except (ClientError, BotoCoreError, KeyError) as error:
            raise FailureError(
                Failure(
                    FailureKind.CONFIGURATION,
                    f"the secret {self._secret} with the provider's key cannot be read",
                )
            ) from error
        key = _plain(text).strip("\ufeff \t\r\n")
        # A key is sent in a header: anything else would fail in the SDK as unknown.
        if not key or not key.isascii() or not key.isprintable():
            what = "holds no key" if not key else "holds something that is no key"
            raise FailureError(
                Failure(FailureKind.CONFIGURATION, f"the secret {self._secret} {what}: fill it")
            )
        return key


def _plain(text: str) -> str:
    """Take a bare key, or {"api_key": "..."} as the console's key/value editor stores it."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    key = value.get("api_key")
    return key if isinstance(key, str) else ""
