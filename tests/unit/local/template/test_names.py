"""Physical names."""

from typing import Any

from local.template.references import mapping_id, physical_names


def test_names_are_readable_and_without_the_ids_hash() -> None:
    """R82: a developer recognises what the template calls LedgerTable."""
    resources: dict[str, dict[str, Any]] = {
        "LedgerTable9343E4AA": {"Type": "AWS::DynamoDB::Table"},
        "LaneQueue12345678": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": True}},
    }

    assert physical_names("embedq-local", resources) == {
        "LedgerTable9343E4AA": "embedq-local-ledger-table",
        "LaneQueue12345678": "embedq-local-lane-queue.fifo",
    }


def test_two_ids_that_differ_in_their_hash_alone_get_two_names() -> None:
    """R82: no two resources share a name."""
    bucket = {"Type": "AWS::S3::Bucket"}

    names = physical_names("s", {"Bucket00000001": bucket, "Bucket00000002": bucket})

    assert names == {"Bucket00000001": "s-bucket", "Bucket00000002": "s-bucket00000002"}


def test_a_long_name_is_cut_and_stays_unique() -> None:
    """R82: buckets take 63 characters."""
    bucket = {"Type": "AWS::S3::Bucket"}

    one, two = physical_names("s", {"B" * 80: bucket, "B" * 81: bucket}).values()

    assert len(one) == len(two) == 63
    assert one != two


def test_a_mapping_has_the_same_id_at_every_start() -> None:
    """R82: what was switched off is found again after a restart."""
    assert mapping_id("s", "A") == mapping_id("s", "A")
    assert len({mapping_id("s", "A"), mapping_id("s", "B"), mapping_id("t", "A")}) == 3
