"""Prove every alarm of the template, print the table, and write docs/operations/proven.md.

python -m benchmarks.alarms                 all alarms, a minute on a quiet machine
python -m benchmarks.alarms BreakerOpen     some of them; the page stays as it is
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.alarms.faults import FAULTS
from benchmarks.alarms.proof import Proven, prove, row
from benchmarks.alarms.stage import read_template, write_template
from local.watch.rules import LOOKED_BACK

PATH = Path(__file__).resolve().parents[2] / "docs/operations/proven.md"
HEADER = f"""# Alarms that were seen to begin and to end

Made by `python -m benchmarks.alarms`; a test runs each line again.

The alarms are those of the synthesized template, judged each minute by CloudWatch's documented \
rules over the lines that the functions write, in memory and with a clock that is moved. *fed*: \
the metric is one of AWS that nothing here produces, and the fault writes it. What is reported \
only now and then ends later than its period: CloudWatch looks further back for a value before a \
missing one counts (here {LOOKED_BACK} periods; it does not say how many).

| alarm | fault | on after | off after |
|---|---|---|---|
"""


def main(names: list[str]) -> int:
    """Prove alarms by their names, or all."""
    with tempfile.TemporaryDirectory() as folder:
        write_template(Path(folder))
        spec = read_template(Path(folder))
    rows = []
    print("\n".join(HEADER.splitlines()[-2:]))
    for name in names or FAULTS:
        proven: Proven = prove(spec, name)[0]
        rows.append(row(proven))
        print(rows[-1], flush=True)
    if not names:
        PATH.write_text(HEADER + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
