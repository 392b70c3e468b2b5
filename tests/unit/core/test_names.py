"""Names that several parts of the stack must agree on."""

import pytest

from functions.core.names import is_service_host


@pytest.mark.parametrize(
    ("host", "is_signed"),
    [
        ("search-mine-abc.eu-west-1.es.amazonaws.com", True),
        ("search-mine-abc.cn-north-1.es.amazonaws.com.cn", True),
        ("search-mine-abc.aos.eu-west-1.on.aws", True),
        ("search.example.com", False),
        ("amazonaws.com.example.com", False),
        ("es-amazonaws.com", False),
        ("my-balancer-1234.eu-west-1.elb.amazonaws.com", False),
        ("ec2-1-2-3-4.eu-west-1.compute.amazonaws.com", False),
        ("abc123.execute-api.eu-west-1.amazonaws.com", False),
        ("abc123.lambda-url.eu-west-1.on.aws", False),
        ("localhost", False),
    ],
)
def test_only_domains_of_the_service_may_get_a_signature(host: str, is_signed: bool) -> None:
    """R84: it has the session token of the role in it; in AWS anyone has a load balancer."""
    assert is_service_host(host) is is_signed
