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
    "om2": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "or1": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "or2": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r5": "large xlarge 2xlarge 4xlarge 12xlarge",
    "r6g": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge",
    "r7g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "r8g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "t3": "small medium",
}
FAMILIES = tuple(_SIZES)
INSTANCE_TYPES = tuple(
    f"{family}.{size}.search" for family, sizes in _SIZES.items() for size in sizes.split()
)
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html#ebsresource
LARGEST_VOLUME_GB = {"t3.small.search": 100, "t3.medium.search": 200}
