"""Paying for pieces: halving, stopping, deadlines."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Embedded
from functions.embed.packing import Past, Piece
from functions.embed.run_time import RunTime
from functions.embed.vectorize import Buying, Vectors, vectorize
from tests.fake_embedder import REFUSED, FakeEmbedder

THROTTLED = Failure(FailureKind.THROTTLED, "429")
BROKEN = Failure(FailureKind.PROVIDER_ERROR, "503")


class PickyEmbedder(FakeEmbedder):
    """Knows more words that fail, and takes so many inputs at most."""

    def __init__(self, *, most: int = 1000, largest: int = 1000) -> None:
        super().__init__()
        self._largest = largest
        self.by_word |= {
            "strange": ZeroDivisionError(),
            "busy": FailureError(THROTTLED),
            "broken": FailureError(BROKEN),
        }
        self._most = most

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if len(texts) > self._most or max(map(len, texts)) > self._largest:
            raise TooLargeRequestError(REFUSED)
        return super().embed(texts, timeout_seconds=timeout_seconds)


class WrongEmbedder(FakeEmbedder):
    """Answers with something that is no vector for each text that says so."""

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        good = super().embed(texts, timeout_seconds=timeout_seconds).results
        wrong = [BROKEN if text == "wrong" else one for text, one in zip(texts, good, strict=True)]
        return Embedded(wrong, 10 * len(texts))


def pieces(*texts: str) -> list[Piece]:
    return [Piece(f"{n}", text, 10, n) for n, text in enumerate(texts)]


def buy(
    embedder: FakeEmbedder, *texts: str, max_tokens: int = 1000, seconds: float = 60
) -> Vectors:
    time = RunTime(lambda: seconds, 120)
    return vectorize(pieces(*texts), embedder, Buying(max_tokens), time)


def test_batch_is_one_request() -> None:
    """R09: all documents of a batch share a request."""
    embedder = PickyEmbedder()

    bought = buy(embedder, *[f"text {n}" for n in range(10)])

    assert len(embedder.requests) == 1
    assert len(bought.paid) == 10


def test_requests_that_an_answer_took_are_counted() -> None:
    """R09: a model that takes one text at a time is asked several times for a batch."""

    class OneByOne(FakeEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            answer = super().embed(texts, timeout_seconds=timeout_seconds)
            return replace(answer, requests=len(texts))

    assert buy(OneByOne(), "a", "b", "c").requests == 3


def test_rejected_document_fails_alone() -> None:
    """R10: the other nine go through in the same invocation."""
    bought = buy(PickyEmbedder(), *[f"text {n}" for n in range(9)], "poison")

    assert bought.failed == {"9": REFUSED}
    assert len(bought.paid) == 9


def test_halving_costs_few_requests() -> None:
    """R10: about two per halving and one for a harmless text, not one per document."""
    bought = buy(PickyEmbedder(), "poison", *[f"text {n}" for n in range(63)])

    assert bought.requests <= 14


def test_request_above_the_accounts_limit_is_split_until_it_passes() -> None:
    """R10 R23: waiting would never help."""
    bought = buy(PickyEmbedder(most=3), *[f"text {n}" for n in range(10)])

    assert len(bought.paid) == 10
    assert bought.failed == {}


def test_one_piece_that_is_too_large_fails_alone() -> None:
    """R10: nothing is left to split."""
    bought = buy(PickyEmbedder(most=1, largest=5), "small", "too large")

    assert bought.failed == {"1": REFUSED}
    assert list(bought.paid) == ["0"]


@pytest.mark.parametrize("documents", [1, 3])
def test_provider_that_refuses_even_a_harmless_text_spends_no_attempt(documents: int) -> None:
    """R24: it is the setting, however few documents there are."""
    bought = buy(FakeEmbedder(always=RefusedRequestError(REFUSED)), *["good"] * documents)

    assert {failure.kind for failure in bought.failed.values()} == {FailureKind.CONFIGURATION}
    assert bought.cause is not None


def test_documents_that_are_all_refused_are_rejected_if_a_harmless_text_passes() -> None:
    """R24 R25: poison documents neither loop nor close the lane for others."""
    bought = buy(PickyEmbedder(), "poison 1", "poison 2", "poison 3")

    assert {failure.kind for failure in bought.failed.values()} == {FailureKind.INVALID_INPUT}
    assert bought.cause is None


def test_harmless_text_that_fails_otherwise_gives_up_no_document() -> None:
    """R24: only what was refused waits for that cause; another failure stays as it is."""
    embedder = PickyEmbedder()
    embedder.by_word["probe"] = ZeroDivisionError()

    bought = buy(embedder, "poison", "broken", max_tokens=10)

    assert {name: failure.kind for name, failure in bought.failed.items()} == {
        "0": FailureKind.UNKNOWN,
        "1": FailureKind.PROVIDER_ERROR,
    }
    assert [type(error) for error in bought.unexpected] == [ZeroDivisionError]
    assert (bought.requests, bought.cause) == (3, bought.failed["0"])


def test_harmless_text_has_the_first_timeout() -> None:
    """R22: longer ones are for documents that had a timeout."""
    timeouts: dict[str, float] = {}

    class Timed(PickyEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            timeouts[texts[0]] = timeout_seconds
            return super().embed(texts, timeout_seconds=timeout_seconds)

    time = RunTime(lambda: 120, 120)

    vectorize([Piece("0", "poison", 9, 0, Past(timeouts=2))], Timed(), Buying(100), time)

    assert timeouts["probe"] == pytest.approx(15, rel=0.001)


def test_unforeseen_error_of_one_request_keeps_what_the_others_paid() -> None:
    """R13: only its own pieces fail."""
    bought = buy(PickyEmbedder(), "one", "strange", "three", max_tokens=10)

    assert sorted(bought.paid) == ["0", "2"]
    assert bought.failed["1"] == Failure(
        FailureKind.UNKNOWN, "unexpected ZeroDivisionError, see the log"
    )
    assert [type(error) for error in bought.unexpected] == [ZeroDivisionError]


@pytest.mark.parametrize(
    ("text", "requests", "paid"),
    [("busy", 1, 0), ("broken", 3, 2)],
    ids=["throttled stops all", "broken goes on"],
)
def test_after_a_failed_request(text: str, requests: int, paid: int) -> None:
    """R22 R23: a throttled provider is left alone; another failure is that request's own."""
    bought = buy(PickyEmbedder(), text, "two", "three", max_tokens=10)

    assert (bought.requests, len(bought.paid), len(bought.failed)) == (requests, paid, 3 - paid)


@pytest.mark.parametrize("seconds", [0, 15, 24.9])
def test_request_without_time_to_finish_is_not_sent(seconds: float) -> None:
    """R09 R13: what the deadline leaves untouched is handed back, not failed."""
    embedder = PickyEmbedder()

    bought = buy(embedder, "one", seconds=seconds)

    assert (bought.paid, bought.failed, embedder.requests) == ({}, {}, [])


def test_tokens_are_shared_by_size() -> None:
    """R28: each document knows what it cost."""
    bought = buy(PickyEmbedder(), "one two three", "four five six")

    assert bought.tokens == {"0": 3, "1": 3}


def of_one_document(*texts: str) -> list[Piece]:
    return [Piece(f"{n}", text, 10, 0) for n, text in enumerate(texts)]


def test_rejected_chunk_of_a_document_fails_alone() -> None:
    """R27: the rest of the document is paid, and can be found."""
    chunks = of_one_document(*[f"text {n}" for n in range(9)], "poison")

    bought = vectorize(chunks, PickyEmbedder(), Buying(1000), RunTime(lambda: 60, 120))

    assert bought.failed == {"9": REFUSED}
    assert len(bought.paid) == 9


def test_document_that_is_refused_as_a_whole_costs_few_requests() -> None:
    """R10: three chunks refused and none taken tell enough about the other two hundred."""
    chunks = of_one_document(*["poison"] * 200)

    bought = vectorize(chunks, PickyEmbedder(), Buying(10_000), RunTime(lambda: 60, 120))

    assert len(bought.failed) == 200
    assert bought.requests < 20


@pytest.mark.parametrize(
    ("most", "documents"),
    [(1, [0, 0, 0, 0, 0]), (3, [0, 0, 0, 0, 1])],
    ids=["too large for the provider", "of another document"],
)
def test_chunk_is_found_beside_a_document_that_is_rejected(most: int, documents: list[int]) -> None:
    """R10: the chunks before it are, which says nothing about this one."""
    texts = ["poison", "poison", "poison", "good" if most == 1 else "poison", "good 2"]
    chunks = [
        Piece(f"{n}", text, 10, of)
        for n, (text, of) in enumerate(zip(texts, documents, strict=True))
    ]

    bought = vectorize(chunks, PickyEmbedder(most=most), Buying(30), RunTime(lambda: 60, 120))

    assert "4" in bought.paid


def test_chunk_that_another_document_has_too_is_not_rejected_with_the_first_one() -> None:
    """R35: it is asked for alone, however many chunks before it are rejected."""
    chunks = of_one_document(*["poison"] * 8, "on every page", *["poison"] * 7)
    chunks[8] = replace(chunks[8], is_shared=True)

    bought = vectorize(chunks, PickyEmbedder(), Buying(10_000), RunTime(lambda: 60, 120))

    assert set(bought.paid) == {"8"}


@pytest.mark.parametrize(
    ("is_failing", "inputs", "requests"), [(False, 4, 1), (True, 4, 2), (False, 1, 4), (True, 1, 4)]
)
def test_packs_are_halved_while_most_requests_fail(
    is_failing: bool, inputs: int, requests: int
) -> None:
    """R26: less is lost with each; an input is not halved."""
    chunks = pieces("one", "two", "three", "four")
    embedder = PickyEmbedder()
    embedder.limits = replace(embedder.limits, inputs_per_request=inputs)

    bought = vectorize(
        chunks, embedder, Buying(40, is_failing=is_failing), RunTime(lambda: 60, 120)
    )

    assert bought.requests == requests


@pytest.mark.parametrize(
    ("tokens", "timeouts", "seconds"),
    [(0, 0, 15), (50_000, 0, 30), (250_000, 0, 90), (0, 1, 30), (0, 2, 60), (50_000, 2, 100)],
)
def test_timeout_follows_the_size_and_the_timeouts_before(
    tokens: int, timeouts: int, seconds: float
) -> None:
    """R22: doubled each time, within what the run has left."""
    embedder = FakeEmbedder()
    piece = Piece("0", "one", tokens, 0, Past(timeouts=timeouts))

    vectorize([piece], embedder, Buying(300_000), RunTime(lambda: 120, 120))

    assert embedder.timeout_seconds == seconds


def test_refused_batch_is_not_halved_before_a_harmless_text_has_passed() -> None:
    """R24: a wrong setting costs two requests, and not two for each document."""
    embedder = FakeEmbedder(always=RefusedRequestError(REFUSED))

    bought = buy(embedder, *[f"text {n}" for n in range(64)])

    assert embedder.asked == 2
    assert {failure.kind for failure in bought.failed.values()} == {FailureKind.CONFIGURATION}


def test_harmless_text_that_is_too_large_is_a_wrong_setting() -> None:
    """R24: a proxy that answers 413 to everything rejects no document."""
    bought = buy(FakeEmbedder(always=TooLargeRequestError(REFUSED)), "one", "two")

    assert {failure.kind for failure in bought.failed.values()} == {FailureKind.CONFIGURATION}
    assert bought.cause is not None


@pytest.mark.parametrize("texts", [("poison", "good"), ("poison",)])
def test_without_time_for_a_harmless_text_no_document_is_judged(texts: tuple[str, ...]) -> None:
    """R24 R35: they are handed back."""
    left = [120.0]
    embedder = PickyEmbedder()
    embedder.meanwhile = lambda: left.__setitem__(0, 20.0)

    bought = vectorize(pieces(*texts), embedder, Buying(100), RunTime(lambda: left[0], 120))

    assert (bought.paid, bought.failed, bought.cause) == ({}, {}, None)
    assert bought.requests == 1


def test_good_vectors_of_an_answer_are_kept_and_paid() -> None:
    """R10 R13: a wrong one is the failure of its own piece."""
    bought = buy(WrongEmbedder(), "one", "wrong", "three")

    assert (sorted(bought.paid), bought.failed) == (["0", "2"], {"1": BROKEN})
    assert bought.tokens == {"0": 10, "1": 10, "2": 10}


def test_one_vector_is_enough_to_judge_the_requests_after_it() -> None:
    """R10: no harmless text is paid, although an answer without a vector came in between."""
    bought = buy(WrongEmbedder(), "one", "wrong", "poison", max_tokens=10)

    assert (bought.requests, bought.failed) == (4, {"1": BROKEN, "2": REFUSED})


def test_text_that_is_refused_once_is_not_rejected() -> None:
    """R10 R24: a fault of a moment condemns no text that stands alone."""
    embedder = FakeEmbedder(failures=[REFUSED])

    bought = buy(embedder, "good")

    assert (list(bought.paid), bought.failed, bought.requests) == (["0"], {}, 3)


@pytest.mark.parametrize(("refusals", "failed"), [(1, 0), (9, 2)])
def test_text_that_is_refused_once_beside_others_is_not_rejected(
    refusals: int, failed: int
) -> None:
    """R10 R24: where each text is a request of its own, the others have their vectors."""

    class OneByOne(FakeEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            good = super().embed(texts, timeout_seconds=timeout_seconds).results
            if self.asked > refusals:
                return Embedded(good, 10 * len(texts), requests=len(texts))
            if not any("good" in text for text in texts):
                raise RefusedRequestError(REFUSED)
            answers = zip(texts, good, strict=True)
            results = [one if "good" in text else REFUSED for text, one in answers]
            return Embedded(results, 10 * len(texts), requests=len(texts))

    embedder = OneByOne()

    bought = buy(embedder, "good 0", "refused 1", "good 2", "refused 3")

    assert bought.failed == dict.fromkeys(["1", "3"][:failed], REFUSED)
    assert len(bought.paid) == 4 - failed
    assert bought.tokens.keys() >= bought.paid.keys()


def isolated(*texts: str, document: int = 0) -> list[Piece]:
    past = Past(has_failed_often=True)
    return [Piece(f"{document}/{n}", text, 10, document, past) for n, text in enumerate(texts)]


@pytest.mark.parametrize("word", ["broken", "strange"])
def test_documents_that_would_be_given_up_are_asked_for_one_by_one(word: str) -> None:
    """R10 R35: not for what another one of their request has caused; at most twice each."""
    embedder = PickyEmbedder()
    last = [replace(piece, past=Past(is_last=True)) for piece in pieces("a", word, "b", "c")]

    bought = vectorize(last, embedder, Buying(1000), RunTime(lambda: 60, 120))

    assert (set(bought.paid), set(bought.failed)) == ({"0", "2", "3"}, {"1"})
    assert embedder.requests == [["probe"], ["a"], ["b"], ["c"]]


def test_documents_that_would_be_given_up_fail_with_the_provider() -> None:
    """R35: where even a harmless text fails, nothing is asked again."""
    embedder = FakeEmbedder(always=FailureError(BROKEN))
    last = [replace(piece, past=Past(is_last=True)) for piece in pieces("a", "b")]

    bought = vectorize(last, embedder, Buying(1000), RunTime(lambda: 60, 120))

    assert (bought.failed, embedder.asked) == ({"0": BROKEN, "1": BROKEN}, 2)


def test_chunk_for_which_the_provider_fails_is_found_in_its_document() -> None:
    """R27: once the document has requests of its own, which are halved."""
    chunks = isolated("one", "two", "broken", "four")

    bought = vectorize(chunks, PickyEmbedder(), Buying(1000), RunTime(lambda: 60, 120))

    assert sorted(bought.paid) == ["0/0", "0/1", "0/3"]
    assert bought.failed == {"0/2": BROKEN}
    assert bought.judged == 3


@pytest.mark.parametrize("waits_from", [1, 2])
def test_documents_that_cannot_be_asked_for_one_by_one_were_asked_for(waits_from: int) -> None:
    """R23 R35: it counts as throttled, so that after some runs each has requests of its own."""

    class Fenced(FakeEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            if self.asked >= waits_from:
                raise FailureError(replace(THROTTLED, is_asked=False))
            return super().embed(texts, timeout_seconds=timeout_seconds)

    last = [replace(piece, past=Past(is_last=True)) for piece in pieces("a", "b")]

    bought = vectorize(last, Fenced(failures=[BROKEN]), Buying(1000), RunTime(lambda: 60, 120))

    assert bought.failed == {"0": THROTTLED, "1": THROTTLED}


def test_part_that_is_not_asked_for_keeps_the_failure_of_the_whole() -> None:
    """R10 R23: the provider wants to be left alone after each failure; the document ends."""

    class LeftAlone(FakeEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            if self.asked == 2:
                raise FailureError(replace(THROTTLED, is_asked=False))
            return super().embed(texts, timeout_seconds=timeout_seconds)

    embedder = LeftAlone(failures=[None, BROKEN])
    past = Past(has_failed_often=True)
    request = [Piece(f"{n}", f"text {n}", 10, 0, past) for n in range(2)]

    bought = vectorize(request, embedder, Buying(1000), RunTime(lambda: 60, 120))

    assert bought.failed == {"0": BROKEN, "1": BROKEN}


class HangingEmbedder(FakeEmbedder):
    """Gives no answer to one word in time, and needs so long for each other request."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        super().__init__()
        self.left = 120.0
        self.time = RunTime(lambda: self.left, 120)
        self._seconds = seconds

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if not any("hang" in text for text in texts) and self._seconds <= timeout_seconds:
            self.left -= self._seconds
            return super().embed(texts, timeout_seconds=timeout_seconds)
        self.left -= timeout_seconds
        raise FailureError(Failure(FailureKind.TIMEOUT, "too slow"))


@pytest.mark.parametrize(("seconds", "missing"), [(0.0, 1), (5.0, 5)])
def test_chunk_that_hangs_leaves_time_for_the_others(seconds: float, missing: int) -> None:
    """R10 R27: it takes half of what is left, and its neighbours come after all the others."""
    embedder = HangingEmbedder(seconds=seconds)
    past = Past(has_failed_often=True, timeouts=2)
    texts = ["hang", *(f"good {n}" for n in range(39))]
    asked = [replace(piece, document=0, past=past) for piece in pieces(*texts)]

    bought = vectorize(asked, embedder, Buying(1000), embedder.time)

    assert len(bought.paid) == 40 - missing


@pytest.mark.parametrize(("first", "failed"), [("hang", 8), ("good", 0)])
def test_document_that_takes_all_the_time_has_failed_unless_it_got_some_vectors(
    first: str, failed: int
) -> None:
    """R10 R21: its parts were not asked for, and it would be paid for in each run to come."""
    embedder = HangingEmbedder()
    past = Past(has_failed_often=True, timeouts=2)
    texts = [f"{first} 0", f"{first} 1", *(f"hang {n}" for n in range(2, 16))]
    asked = [replace(piece, document=0, past=past) for piece in pieces(*texts)]

    bought = vectorize(asked, embedder, Buying(1000), embedder.time)

    assert [one.kind for one in bought.failed.values()] == [FailureKind.TIMEOUT] * failed
    assert len(bought.paid) == (2 if first == "good" else 0)


def test_isolated_documents_are_left_alone_while_the_provider_is_down() -> None:
    """R25 R35: a harmless text fails, too; nothing else is asked, and no other one fails."""
    embedder = FakeEmbedder(always=FailureError(BROKEN))
    chunks = [*isolated("a", document=0), *isolated("b", document=1)]

    bought = vectorize(chunks, embedder, Buying(1000), RunTime(lambda: 60, 120))

    assert (embedder.asked, bought.failed) == (1, {"0/0": BROKEN})
    assert (bought.requests, bought.judged, bought.cause) == (1, 0, BROKEN)


@pytest.mark.parametrize(
    ("throttles", "chunks", "kind"),
    [(2, 1, "throttled"), (3, 1, "provider_error"), (3, 2, "throttled")],
)
def test_text_that_is_throttled_while_another_passes_spends_attempts(
    throttles: int, chunks: int, kind: str
) -> None:
    """R23 R35: after three such runs; two texts may only have been too much at once."""
    past = Past(throttles=throttles)
    request = [Piece(f"{n}", "busy", 10, 0, past) for n in range(chunks)]

    bought = vectorize(request, PickyEmbedder(), Buying(1000), RunTime(lambda: 60, 120))

    assert {failure.kind for failure in bought.failed.values()} == {kind}


def test_text_that_only_waits_for_others_is_not_judged() -> None:
    """R10 R23: it has been throttled beside others, and then it was never asked."""
    embedder = PickyEmbedder()
    waits = replace(THROTTLED, is_asked=False)
    embedder.by_word["waiting"] = FailureError(waits)
    request = [Piece("0", "waiting", 10, 0, Past(throttles=3))]

    bought = vectorize(request, embedder, Buying(1000), RunTime(lambda: 60, 120))

    assert bought.failed == {"0": waits}


def test_what_was_not_asked_is_not_throttled_itself() -> None:
    """R23: only the document whose request was throttled counts that."""
    bought = buy(PickyEmbedder(), "busy", "two", max_tokens=10)

    assert [bought.failed[name].is_asked for name in ("0", "1")] == [True, False]
