"""Changes to a deployed stage, each with what a person has to know about it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Stage = dict[str, Any]
Edit = Callable[[Stage], None]

_ACCOUNT = "eu-west-1:123456789012"


def table(name: str, stream: str = "2026-01-01T00:00:00.000") -> dict[str, str]:
    """Name an existing table as a source does."""
    arn = f"arn:aws:dynamodb:{_ACCOUNT}:table/{name}"
    return {"arn": arn, "stream_arn": f"{arn}/stream/{stream}"}


def endpoint(name: str) -> dict[str, str]:
    """Name an existing domain as a stage does."""
    return {
        "endpoint": f"https://search-{name}-abcdefghijklmnopqrstuvwxyz.eu-west-1.es.amazonaws.com",
        "domain_arn": f"arn:aws:es:{_ACCOUNT}:domain/{name}",
    }


# All that the stack can make, once.
MADE: Stage = {
    "sources": {
        "articles": {
            "key": {"id": "S"},
            "text": "{title}\n\n{body}",
            "metadata": {"author": "keyword"},
        },
    },
    "targets": {"default": {"model": "text-embedding-3-small"}},
    "opensearch": {
        "domain": {
            "version": "OpenSearch_2.19",
            "instance_type": "r7g.large.search",
            "instance_count": 2,
            "volume_gb": 100,
        }
    },
    "alarm_emails": {"critical": ["team@example.com"]},
}
VPC = {
    "id": "vpc-0123456789abcdef0",
    "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    "security_groups": ["sg-0123456789abcdef0"],
    "endpoints": "exist",
}
KEY = f"arn:aws:kms:{_ACCOUNT}:key/0b0b2b6e-5a3c-4a3e-9b1f-000000000000"
# The logical id that the table of this source has, which stands for its name here.
MADE_TABLE = "SourcesArticles4A20AAFF"


def to(*path: str, value: Any) -> Edit:
    """Set one value of a stage."""

    def edit(stage: Stage) -> None:
        part = stage
        for key in path[:-1]:
            part = part.setdefault(key, {})
        part[path[-1]] = value

    return edit


def without(*path: str) -> Edit:
    """Remove one value of a stage."""

    def edit(stage: Stage) -> None:
        part = stage
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]

    return edit


def renamed(kind: str, old: str, new: str) -> Edit:
    """Rename a source or a target, wherever it is named."""

    def edit(stage: Stage) -> None:
        stage[kind] = {new if name == old else name: part for name, part in stage[kind].items()}
        for source in stage["sources"].values() if kind == "targets" else ():
            given = source.get("targets", ["default"])
            source["targets"] = [new if name == old else name for name in given]

    return edit


@dataclass(frozen=True)
class Change:
    """One change: the stage before it, what is edited, and what to know."""

    name: str
    edits: tuple[Edit, ...]
    note: str
    before: tuple[Edit, ...] = ()
    refused: str = ""  # by AWS, for a reason that no template shows
    earlier: tuple[Edit, ...] | None = None  # a stage that was there before, and left things behind

    @property
    def stages(self) -> tuple[Stage, Stage]:
        """Return the stage before and after the change."""
        return edited(self.before), edited((*self.before, *self.edits))


def edited(edits: tuple[Edit, ...]) -> Stage:
    """Return the stage with some edits."""
    stage = copy.deepcopy(MADE)
    for edit in edits:
        edit(stage)
    return stage


_NEXT_WRITE = "Documents that exist get it at their next write."
_EMPTY_INDEX = (
    "The new index begins empty: a document is in it after its next write. To go over without a"
    " gap, add a second target instead, and remove the first one when the second is complete."
)
_FOR_GOOD = "give the new one a target that `replaces` this one ([how](migration.md))."
_EXISTING = (to("sources", "articles", "table", value=table("Articles")),)
_SEQUENTIAL = (to("sources", "articles", "ordering", value="sequential"),)
_TWO_SOURCES = (to("sources", "news", value={"key": {"id": "S"}, "text": "{body}"}),)
_TWO_TARGETS = (
    to("targets", "large", value={"model": "text-embedding-3-large"}),
    to("sources", "articles", "targets", value=["default", "large"]),
)
_SHARED_DOMAIN = (to("opensearch", value=endpoint("shared")),)

CHANGES = (
    Change(
        "a source is added",
        _TWO_SOURCES,
        "Changes are taken from now on. Of an existing table, those of the last 24 hours too; an"
        " older item is embedded at its next write.",
    ),
    Change(
        "a source is removed",
        (without("sources", "news"),),
        "Its items stay in the table, its rows in the ledger until `embedq forget`, its entries in"
        " the index, where searches find them.",
        before=_TWO_SOURCES,
    ),
    Change(
        "a source is renamed",
        (renamed("sources", "articles", "news"),),
        "A new source with a new, empty table. Items and entries of the old one stay as they are.",
    ),
    Change(
        "a source is renamed and keeps its table, by `table`",
        (
            renamed("sources", "articles", "news"),
            to("sources", "news", "table", value=table(MADE_TABLE)),
        ),
        "Lambda takes one mapping for a stream and a function, and CloudFormation makes the new one"
        " first. Deploy the rename alone, then `table`, within a day: the new mapping reads what"
        " the stream still has. Entries under the old name stay.",
    ),
    Change(
        "the table that the stack made becomes an existing one, by `table`",
        (to("sources", "articles", "table", value=table(MADE_TABLE)),),
        "Nothing is read twice or lost.",
    ),
    Change(
        "another existing table",
        (to("sources", "articles", "table", value=table("Articles2")),),
        "The stream of the new table is read from its beginning. Entries of the old one stay in"
        " the index.",
        before=_EXISTING,
    ),
    Change(
        "another stream of the same existing table",
        (to("sources", "articles", "table", value=table("Articles", "2026-02-02T00:00:00.000")),),
        "The new stream is read from its beginning. What was written while the table had no stream"
        " is found by `embedq verify`.",
        before=_EXISTING,
    ),
    Change(
        "another key attribute",
        (to("sources", "articles", "key", value={"number": "S"}),),
        "A new, empty table. Items of the old one stay there, and its entries in the index.",
    ),
    Change(
        "another key type",
        (to("sources", "articles", "key", value={"id": "N"}),),
        "A new, empty table. Items of the old one stay there, and its entries in the index.",
    ),
    Change(
        "a source becomes sequential",
        _SEQUENTIAL,
        "Tasks that are on their way are worked in their old lanes; of two versions the newer one"
        " wins.",
    ),
    Change(
        "a source is sequential no more",
        (without("sources", "articles", "ordering"),),
        "Its queue goes with the tasks in it. The ledger has them: `embedq recover` sends them at"
        " once, the sweep after `stuck_hours`. Redrive its dead letters before.",
        before=_SEQUENTIAL,
    ),
    Change(
        "another text template, more metadata, other chunk sizes",
        (
            to("sources", "articles", "text", value="{title}: {body}"),
            to("sources", "articles", "metadata", "year", value="long"),
            to("targets", "default", "chunk_tokens", value=200),
        ),
        _NEXT_WRITE,
    ),
    Change(
        "another type of a metadata field",
        (to("sources", "articles", "metadata", "author", value="text"),),
        "Nothing has changed after the refusal: use another field.",
    ),
    Change(
        "a target is added",
        _TWO_TARGETS,
        "Its secret is empty: fill it. " + _NEXT_WRITE,
    ),
    Change(
        "a target is removed",
        (without("targets", "large"), without("sources", "articles", "targets")),
        "Its index stays in the domain, its rows in the ledger until `embedq forget`.",
        before=_TWO_TARGETS,
    ),
    Change(
        "a target is renamed",
        (renamed("targets", "default", "main"),),
        "A new target: its secret is empty, its index begins empty. The old index stays in the"
        " domain, its dead letters in their queue.",
    ),
    Change(
        "a target comes back that was removed",
        _TWO_TARGETS,
        "Its dead-letter queues were kept and have the names. Delete them, or import them"
        " ([how](operations.md#removing-a-stage-and-bringing-it-back)).",
        earlier=_TWO_TARGETS,
    ),
    Change(
        "another model",
        (to("targets", "default", "model", value="text-embedding-ada-002"),),
        f"No vector of it is written before the refusal: {_FOR_GOOD}",
    ),
    Change(
        "other dimensions",
        (to("targets", "default", "dimensions", value=512),),
        f"No vector of it is written before the refusal: {_FOR_GOOD}",
    ),
    Change(
        "other shards",
        (to("targets", "default", "shards", value=3),),
        f"Nothing has changed after the refusal: {_FOR_GOOD}",
    ),
    Change(
        "another compression",
        (to("targets", "default", "compression", value="4x"),),
        f"Nothing has changed after the refusal: {_FOR_GOOD}",
    ),
    Change(
        "other replicas",
        (to("targets", "default", "replicas", value=0),),
        "Applied while the index serves.",
    ),
    Change(
        "another index name",
        (to("targets", "default", "index", value="articles-v2"),),
        f"{_EMPTY_INDEX} The old index stays in the domain.",
    ),
    Change(
        "another address of the provider",
        (to("targets", "default", "base_url", value="https://eu.api.openai.com/v1"),),
        "Runs that have begun end with the old one.",
    ),
    Change(
        "another secret",
        (
            to(
                "targets",
                "default",
                "api_key_secret_arn",
                value=f"arn:aws:secretsmanager:{_ACCOUNT}:secret:key-AbCdEf",
            ),
        ),
        "Runs that have begun end with the old key.",
    ),
    Change(
        "other concurrency of a lane, also while a breaker is open or the target is paused",
        (to("targets", "default", "concurrency", "normal", value=20),),
        "CloudFormation may switch the lane on that the breaker has switched off. The breaker"
        " switches it off again within a minute, and no run sends a request meanwhile.",
    ),
    Change(
        "another timeout of embed",
        (to("targets", "default", "timeout_seconds", value=300),),
        "The lanes' visibility timeout follows. Messages in work keep theirs.",
    ),
    Change(
        "a larger instance type or volume of the domain",
        (
            to("opensearch", "domain", "instance_type", value="r7g.xlarge.search"),
            to("opensearch", "domain", "volume_gb", value=200),
        ),
        "OpenSearch Service copies the data to new nodes and answers meanwhile; the deployment"
        " waits for it, up to hours.",
    ),
    Change(
        "fewer instances of the domain",
        (to("opensearch", "domain", "instance_count", value=1),),
        "`replicas` that are not set follow to 0. OpenSearch Service refuses what the volumes have"
        " no room for.",
    ),
    Change(
        "a newer version of the domain",
        (to("opensearch", "domain", "version", value="OpenSearch_3.1"),),
        "Upgraded in place; the deployment waits for it. From 2.x to 3.x only by way of 2.19."
        " Change nothing else with it: an upgrade cannot be taken back if another part fails.",
    ),
    Change(
        "an older version of the domain",
        (to("opensearch", "domain", "version", value="OpenSearch_2.17"),),
        "Nothing has changed after the refusal.",
        refused="OpenSearch Service upgrades only",
    ),
    Change(
        "an existing domain instead of the one that the stack made",
        _SHARED_DOMAIN,
        f"The index is made there before embed writes to it. {_EMPTY_INDEX}",
    ),
    Change(
        "another existing domain",
        (to("opensearch", value=endpoint("other")),),
        f"The index is made there before embed writes to it. {_EMPTY_INDEX}",
        before=_SHARED_DOMAIN,
    ),
    Change(
        "the stage goes into a VPC, with the domain that the stack made",
        (to("vpc", value=VPC),),
        "Make another stage, or another domain and name it as an existing one.",
        # https://docs.aws.amazon.com/opensearch-service/latest/developerguide/vpc.html
        refused="OpenSearch Service moves no domain into a VPC or out of one",
    ),
    Change(
        "the stage goes into a VPC, with an existing domain",
        (to("vpc", value=VPC),),
        "Functions go over one by one; runs that have begun end where they are.",
        before=_SHARED_DOMAIN,
    ),
    Change(
        "a KMS key of your own, with the domain that the stack made",
        (to("encryption_key_arn", value=KEY),),
        "Make another stage, or another domain and name it as an existing one.",
    ),
    Change(
        "a KMS key of your own, with an existing domain",
        (to("encryption_key_arn", value=KEY),),
        "DynamoDB encrypts its tables anew. Messages, objects and log events that are there stay"
        " under their old keys until they expire; a secret, until it is filled again.",
        before=_SHARED_DOMAIN,
    ),
    Change(
        "`removal` from `retain` to `destroy`",
        (to("removal", value="destroy"),),
        "From now on data goes with what holds it, and the stack is not protected any more.",
    ),
    Change(
        "`removal` from `destroy` to `retain`",
        (to("removal", value="retain"),),
        "From now on data stays, and the stack is protected.",
        before=(to("removal", value="destroy"),),
    ),
    Change(
        "other log retention",
        (to("log_retention_days", value=90),),
        "CloudWatch deletes older events, if it is shorter.",
    ),
    Change(
        "other addresses of alarms",
        (to("alarm_emails", "critical", value=["other@example.com"]),),
        "A new address gets a mail from AWS, and no alarm before it has confirmed.",
    ),
    Change(
        "`enabled` set to false",
        (to("enabled", value=False),),
        "Nothing is read: tasks wait in their lanes for 14 days, changes in the stream for 24"
        " hours only.",
    ),
)
