"""How a run divides its time."""

import pytest

from functions.embed.run_time import RunTime


def run(left: float, total: float) -> RunTime:
    return RunTime(lambda: left, total)


@pytest.mark.parametrize(
    ("total", "finish", "asking", "shortest"), [(120, 20, 30, 5), (36, 12, 9, 3)]
)
def test_short_run_is_divided_as_a_long_one_is(
    total: float, finish: float, asking: float, shortest: float
) -> None:
    """R09: what stays for the end, how long a request may take, and the shortest worth sending."""
    time = run(total, total)

    assert (time.finish_seconds, time.request_seconds) == (finish, asking)
    assert not time.is_too_short(shortest)
    assert time.is_too_short(shortest - 0.01)


@pytest.mark.parametrize(("left", "round_", "parcel"), [(35, True, True), (34.9, False, True)])
def test_nothing_is_begun_without_the_time_for_it(left: float, round_: bool, parcel: bool) -> None:
    """R09: a round needs half a request and the end, a parcel less."""
    assert (run(left, 120).has_a_round, run(left, 120).has_a_parcel) == (round_, parcel)


@pytest.mark.parametrize(("left", "fits"), [(14, True), (13.9, False)])
def test_parcel_needs_a_bulk_request_and_what_follows(left: float, fits: bool) -> None:
    """R09: else its documents are stashed."""
    assert run(left, 120).has_a_parcel is fits


@pytest.mark.parametrize(
    ("tokens", "patience", "left", "seconds"),
    [
        (0, 0, 120, 15),
        (50_000, 0, 120, 30),
        (50_000, 1, 120, 60),
        (50_000, 2, 120, 100),
        (100_000, 0, 120, 45),
        (50_000, 0, 40, 20),
    ],
)
def test_timeout_grows_with_size_and_patience_within_what_is_left(
    tokens: int, patience: int, left: float, seconds: float
) -> None:
    """R22: doubled for each timeout before; the end of the run is kept free."""
    assert run(left, 120).timeout_seconds(tokens, patience) == seconds


@pytest.mark.parametrize(("patience", "seconds"), [(0, 30), (1, 50), (2, 50)])
def test_document_with_more_to_ask_for_keeps_half_of_the_time(
    patience: int, seconds: float
) -> None:
    """R10 R27: a chunk that hangs leaves time for the others."""
    assert run(120, 120).timeout_seconds(50_000, patience, has_more=True) == seconds
