#!/usr/bin/env bash
# Builds wheel and sdist into dist/ and tries each in an empty environment: the core alone must score
# a page. Says how much disk an installation takes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=${PYTHON:-.venv/bin/python}

rm -rf dist
$PYTHON -m hatchling build >/dev/null 2>&1
ls -l dist | awk 'NR > 1 { printf "dist: %s, %.1f MB\n", $NF, $5 / 1e6 }'

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

# The pins of the lock, without hashes: pip wants a hash for everything or for nothing.
sed -n '/^[A-Za-z0-9]/s/ \\$//p' requirements.lock >"$trial/pins.txt"

for built in dist/*.whl dist/*.tar.gz; do
  environment=$trial/$(basename "$built")
  $PYTHON -m venv "$environment"
  "$environment/bin/pip" install --quiet --constraint "$trial/pins.txt" "$built"
  # Outside of the checkout, so that nothing is found there by accident.
  (
    cd "$trial"
    pages=$("$environment/bin/python" -c 'import uiproof, pathlib; print(pathlib.Path(uiproof.__file__).parent / "demo" / "design2code")')
    "$environment/bin/uiproof" --help >/dev/null
    mkdir -p reference generated
    for page in article dashboard; do
      cp "$pages/reference/$page.html" reference/
      cp "$pages/generated/$page.html" generated/
    done
    "$environment/bin/uiproof" score design2code reference generated --json scores.json --quiet >/dev/null
    "$environment/bin/python" - <<'PYTHON'
import json
import pathlib

scored = json.loads(pathlib.Path("scores.json").read_text())
means = scored["summary"]["scores"]["strict"] if "summary" in scored else scored["scores"]["strict"]
assert 0 < means["text"]["mean"] <= 1, means
PYTHON
  )
  packages=$("$environment/bin/pip" list --format freeze | wc -l)
  echo "dist: $(basename "$built") scores pages: $packages packages, $(du -sm "$environment" | cut -f1) MB"
done
