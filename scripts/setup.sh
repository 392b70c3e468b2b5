#!/bin/sh
# Find a Python that is new enough and let scripts/setup.py do the rest.
# Plain sh, and every Python since 2.7 understands the test: an old one gets a sentence, not a traceback.
set -eu
cd "$(dirname "$0")/.."

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
else
    candidates=".venv/bin/python python3 python3.14 python3.13 python3.12 python3.11"
fi

for candidate in $candidates; do
    if is_new_enough "$candidate"; then
        exec "$candidate" scripts/setup.py
    fi
done

found=$("${PYTHON:-python3}" --version 2>&1) || found="none"
echo "embedq needs Python 3.11 or newer (found: $found). Install one, or name it: make setup PYTHON=/path/to/python3.13" >&2
exit 1
