"""Instance types of OpenSearch Service that a domain of ours can have."""

# Those with volumes that are encrypted and of type gp3: neither older families nor those that have
# disks of their own. https://docs.aws.amazon.com/opensearch-service/latest/developerguide/supported-instance-types.html
_SIZES = {
    "c5": "large xlarge 2xlarge 4xlarge 9xlarge 18xlarge",
    "c6g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge",
    "c7g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "c7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "c8g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "m5": "large xlarge 2xlarge 4xlarge 12xlarge",
    "m6g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge",
    "m7g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "m7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "m8g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r5": "large xlarge 2xlarge 4xlarge 12xlarge",
    "r6g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge",
    "r7g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r8g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "t3": "small medium",
}
FAMILIES = tuple(_SIZES)
# Their indexes refresh every ten seconds, no sooner, and a live write waits for it: as long as
# embed waits for an answer.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/or1.html
SLOW_TO_REFRESH = ("oi2", "om2", "or1", "or2")
INSTANCE_TYPES = tuple(
    f"{family}.{size}.search" for family, sizes in _SIZES.items() for size in sizes.split()
)
_SINCE_C7 = {"large": 256, "xlarge": 512, "2xlarge": 1024, "4xlarge": 1536, "8xlarge": 3072,
             "12xlarge": 4608, "16xlarge": 6144}  # fmt: skip
_SINCE_M7 = {"medium": 512, "large": 768, "xlarge": 2048, "2xlarge": 3072, "4xlarge": 6144,
             "8xlarge": 12_288, "12xlarge": 18_432, "16xlarge": 24_576}  # fmt: skip
_SINCE_R7 = {"medium": 768, "large": 1536, "xlarge": 3072, "2xlarge": 6144, "4xlarge": 12_288,
             "8xlarge": 16_384, "12xlarge": 24_576, "16xlarge": 36_864}  # fmt: skip
# Of gp3, for the types that the page of quotas lists:
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html#ebsresource
_GIB = {
    "t3": {"small": 100, "medium": 200},
    "c5": {"large": 256, "xlarge": 512, "2xlarge": 1024, "4xlarge": 1536, "9xlarge": 3584,
           "18xlarge": 7168},
    "c6g": {"large": 256, "xlarge": 512, "2xlarge": 1024, "4xlarge": 1536, "8xlarge": 3072,
            "12xlarge": 4608},
    "m5": {"large": 1024, "xlarge": 2048, "2xlarge": 3072, "4xlarge": 6144, "12xlarge": 18_432},
    "m6g": {"large": 1024, "xlarge": 2048, "2xlarge": 3072, "4xlarge": 6144, "8xlarge": 12_288,
            "12xlarge": 18_432},
    "r5": {"large": 2048, "xlarge": 3072, "2xlarge": 6144, "4xlarge": 12_288, "12xlarge": 24_576},
    "r6g": {"large": 2048, "xlarge": 3072, "2xlarge": 6144, "4xlarge": 12_288, "8xlarge": 16_384,
            "12xlarge": 24_576},
    **dict.fromkeys(("c7g", "c7i", "c8g"), _SINCE_C7),
    **dict.fromkeys(("m7g", "m7i", "m8g"), _SINCE_M7),
    **dict.fromkeys(("r7g", "r7i"), _SINCE_R7),
    "r8g": {**_SINCE_R7, "large": 1532},
}  # fmt: skip
LARGEST_VOLUME_GB = {
    f"{family}.{size}.search": most
    for family, sizes in _GIB.items()
    for size, most in sizes.items()
}
# Those that take a request of 10 MiB; all others take 100.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html#network-limits
WITH_SMALL_BODIES = (
    "t3.small.search", "t3.medium.search", "c5.large.search", "c6g.large.search",
    "m5.large.search", "m6g.large.search",
)  # fmt: skip
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html#clusterresource
INSTANCES_WITH_T3_MASTERS = 10
