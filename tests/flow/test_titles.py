"""A late chunk is found by the words of its title, with the real small model."""

from itertools import product as product_of

from functions.adapters.providers import make_embedder
from local.provider.minilm import WIDTH, MiniLmVectors
from local.provider.server import ModelServer
from tests.builders import make_pipeline, make_target

PRODUCTS = ("Falcon bicycle", "Osprey sewing machine", "Heron coffee maker", "Kestrel lawn mower")
# The same in every manual: only the title says what it is about.
MANUAL = "\n\n".join(
    [
        "Thank you for choosing our product. Please read all of these pages before first use. " * 4,
        "Guarantee: we repair or replace it within two years, if you keep the receipt. " * 4,
        "Cleaning: wipe it with a damp cloth once a week, and dry it well afterwards. " * 4,
    ]
)


def test_late_chunk_is_found_by_its_title() -> None:
    """R11 R16 R48: without the title before each chunk all manuals are equally near."""
    with ModelServer(MiniLmVectors()) as server:
        options = {"base_url": server.url, "dimensions": WIDTH, "chunk_tokens": 100}
        embedder = make_embedder(make_target(**options), lambda _: "no key needed here")
        pipeline = make_pipeline(
            source={"chunk_prefix": "{title}\n\n"},
            target=options,
            embedders={"default": embedder},
        )
        for name in PRODUCTS:
            pipeline.tables["articles"].put({"id": name, "title": name, "body": MANUAL})
        pipeline.drain()

        for product, topic in product_of(PRODUCTS, ["Guarantee", "Cleaning"]):
            query = embedder.embed([f"{topic} of my {product}"], timeout_seconds=30)
            [hit] = pipeline.indexes["default"].search(query.vectors[0], most=1)

            assert (hit.document_id, hit.text.split(":")[0]) == (product, topic)
