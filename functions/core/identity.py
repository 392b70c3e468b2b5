"""What makes two things the same: documents, rows, tasks and entries get their ids only here."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NewType

DocumentId = NewType("DocumentId", str)
RowKey = NewType("RowKey", str)
EntryId = NewType("EntryId", str)

# The key of an item as DynamoDB spells it: {"id": {"S": "a"}}.
ItemKey = Mapping[str, Mapping[str, str]]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
MAX_ROW_KEY_BYTES = 2048
# OpenSearch refuses a longer _id.
MAX_ENTRY_ID_BYTES = 512
# Letters, digits and punctuation of ASCII:
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
GROUP_ID = re.compile(r"[!-~]{1,128}")
# Entries are compared with their table by sums over this many groups of documents.
BUCKETS = 4096


class MalformedKeyError(ValueError):
    """The key of an item does not have the configured attributes, or is not valid Unicode."""


def document_id(key: ItemKey, attributes: Sequence[str]) -> DocumentId:
    """Join the key's values into one id; different keys of one table get different ids."""
    if set(key) != set(attributes):
        raise MalformedKeyError(
            f"the item's key has {sorted(key)}, the source is configured with {sorted(attributes)}"
        )
    values = [next(iter(key[name].values())) for name in attributes]
    joined = values[0] if len(values) == 1 else "|".join(map(_escape, values))
    if not is_unicode(joined):
        raise MalformedKeyError("the item's key is not valid Unicode")
    return DocumentId(joined)


def row_key(target: str, source: str, document: DocumentId) -> RowKey:
    """Name the ledger row of a document in a target."""
    return RowKey(_bounded(f"{target}/{source}/", document, MAX_ROW_KEY_BYTES))


def entry_id(source: str, document: DocumentId) -> EntryId:
    """Name the document's one entry in an index that several sources may share."""
    return EntryId(_bounded(f"{source}/", document, MAX_ENTRY_ID_BYTES))


def bucket_of(entry: EntryId) -> int:
    """Put an entry into one of the buckets that a table and its index are compared by."""
    return int(digest(entry)[:8], 16) % BUCKETS


def check_of(entry: EntryId, content_hash: str | None) -> int:
    """Return 32 bits that stand for an entry's content: a double adds up a million exactly."""
    return int(digest(entry, content_hash or "")[:8], 16)


def version_bits(version: int) -> int:
    """Return the part of a version that sums are made of: a double adds up a million exactly."""
    return version % 2**32


def item_key(document: DocumentId, types: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Spell the key of a document again, the opposite of `document_id`; types by attribute.

    Empty where its id is that of a key with fewer or more attributes.
    """
    values = [str(document)] if len(types) == 1 else [*map(_unescape, document.split("|"))]
    if len(values) != len(types):
        return {}
    return {name: {kind: value} for (name, kind), value in zip(types.items(), values, strict=True)}


def deduplication_id(row: RowKey, version: int, copy: str) -> str:
    """Let SQS drop the second send of a task: never by content, or A -> B -> A would end at B."""
    return digest(row, str(version), *filter(None, [copy]))


def message_group(source: str, document: DocumentId) -> str:
    """Order the tasks of one document; hashed, as SQS allows 128 characters of few kinds."""
    return digest(source, document)


def tenant_group(tenant: str) -> str:
    """Name the message group of a tenant: its own name, if SQS takes that, else a hash."""
    if not tenant or GROUP_ID.fullmatch(tenant):
        return tenant
    return digest(ascii(tenant))


def digest(*parts: str) -> str:
    """Hash parts so that no two different lists of parts are one."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


def is_unicode(text: str) -> bool:
    """Tell whether a text can be sent as UTF-8: JSON may carry half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace("|", "%7C")


def _unescape(value: str) -> str:
    return value.replace("%7C", "|").replace("%25", "%")


def _bounded(prefix: str, document: DocumentId, limit: int) -> str:
    plain = prefix + document
    # A document that is itself called "#..." is hashed too, or it could pose as a hashed one.
    if len(plain.encode()) <= limit and not document.startswith("#"):
        return plain
    return f"{prefix}#{digest(document)}"
