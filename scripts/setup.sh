#!/usr/bin/env bash
# Sets up what uiproof needs on this machine and says what it does.
#
#   scripts/setup.sh all           uv, environment, browser, fonts, frozen web
#   scripts/setup.sh environment   only the Python environment, in .venv
#   scripts/setup.sh browser       only a browser
#   scripts/setup.sh fonts         only fonts, where there are none
#   scripts/setup.sh web           only the frozen web: what pages load from elsewhere
#   scripts/setup.sh lock          write requirements.lock anew
#
# Each step looks first and does nothing where nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian packages that bring a browser, best first.
BROWSER_PACKAGES=(chromium-headless-shell chromium)
FONT_PACKAGES=(fontconfig fonts-liberation fonts-dejavu-core)
PLAYWRIGHT_DOWNLOAD_SECONDS=300
UV_PIN=scripts/uv.txt # the exact version, with the hashes of its files

say() { printf 'setup: %s\n' "$*"; }
give_up() {
  printf 'setup: %s\n' "$*" >&2
  exit 3
}
have() { command -v "$1" >/dev/null 2>&1; }

# Prints the path of the pinned uv: one that is installed, or one from PyPI in .tools.
find_uv() {
  local uv version
  version=$(sed -n 's/^uv==\([^ ]*\).*/\1/p' "$UV_PIN")
  for uv in uv "$HOME/.local/bin/uv" .tools/bin/uv .tools/venv/bin/uv; do
    if [[ $("$uv" --version 2>/dev/null) =~ ^uv\ "$version"(\ |$) ]]; then
      echo "$uv"
      return
    fi
  done
  local python=${PYTHON:-python3}
  have "$python" || give_up "There is no $python. Install Python 3.11 or newer, or set PYTHON to it."
  say "getting uv $version from PyPI into .tools" >&2
  rm -rf .tools
  export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
  # --target works also where the system forbids pip to touch its own packages (PEP 668).
  if "$python" -m pip install --quiet --target .tools --require-hashes --requirement "$UV_PIN" >&2; then
    echo .tools/bin/uv
  elif "$python" -m venv .tools/venv >&2 && .tools/venv/bin/pip install --quiet --require-hashes --requirement "$UV_PIN" >&2; then
    echo .tools/venv/bin/uv
  else
    give_up "uv $version could not be installed with $python. Check that it has pip and that PyPI is reachable."
  fi
}

set_up_environment() {
  local uv
  uv=$(find_uv)
  # uv does not read pip's settings; whoever has set an index for pip means this one too.
  if [[ -n ${PIP_INDEX_URL:-} && -z ${UV_INDEX_URL:-}${UV_DEFAULT_INDEX:-} ]]; then
    export UV_DEFAULT_INDEX=$PIP_INDEX_URL
  fi
  export UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-180}
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "making the Python environment in .venv"
    rm -rf .venv
    "$uv" venv --quiet --no-project --python "${PYTHON:->=3.11}" .venv
  fi
  say "installing the pinned packages of requirements.lock into .venv"
  "$uv" pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
  "$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
}

# Prints the browser that uiproof will use; fails where it finds none. One list of places to look,
# kept in uiproof.browser.chromium.
find_browser() {
  .venv/bin/python -c 'from uiproof.browser.chromium import find_chromium; print(find_chromium().path)' 2>/dev/null
}

set_up_browser() {
  local browser package
  if browser=$(find_browser); then
    say "browser found: $browser"
    return
  fi
  say "no browser found; downloading Playwright's headless Chromium"
  if playwright_install && browser=$(find_browser); then
    if "$browser" --version >/dev/null 2>&1 || as_root .venv/bin/playwright install-deps chromium; then
      say "browser installed: $browser"
      return
    fi
  fi
  for package in "${BROWSER_PACKAGES[@]}"; do
    say "that did not work; installing $package with apt"
    if apt_install "$package" && browser=$(find_browser); then
      say "browser installed: $browser"
      return
    fi
  done
  give_up "No browser could be installed (apt needs root or sudo). Install ${BROWSER_PACKAGES[0]}, Chromium or Google Chrome, or set UIPROOF_CHROMIUM to one, and run this again."
}

# Bounded, because a closed network may let connections hang; macOS has no `timeout` command.
playwright_install() {
  PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT=${PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT:-15000} \
    .venv/bin/python - "$PLAYWRIGHT_DOWNLOAD_SECONDS" <<'PYTHON'
import os
import signal
import subprocess
import sys

command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
with subprocess.Popen(command, start_new_session=True, **quiet) as download:
    try:
        sys.exit(download.wait(float(sys.argv[1])))
    except subprocess.TimeoutExpired:
        os.killpg(download.pid, signal.SIGKILL)  # its helpers too
        sys.exit(1)
PYTHON
}

set_up_fonts() {
  [[ $(uname) == Linux ]] || return 0
  # Pages ask for Arial, Times and Courier; without fonts of the same widths every line breaks
  # elsewhere. A machine that has such fonts keeps exactly those, because fonts change how pages look.
  if have fc-match && [[ $(fc-match -f '%{family}' Arial) =~ Arial|Liberation|Arimo|Helvetica|Nimbus ]]; then
    say "fonts found: $(fc-list : family | sort -u | wc -l | tr -d ' ') families"
  else
    say "no fonts with the widths of Arial found; installing ${FONT_PACKAGES[*]} with apt"
    apt_install "${FONT_PACKAGES[@]}" || say "fonts could not be installed; text will be drawn with whatever the browser finds"
  fi
  add_fonts zh-cn fonts-noto-cjk
  add_fonts und-zsye fonts-noto-color-emoji
}

# Installs fonts for a language where no font has it.
add_fonts() {
  if have fc-list && [[ -n $(fc-list ":lang=$1" family) ]]; then
    return
  fi
  say "no fonts for $1 found; installing $2 with apt"
  apt_install "$2" || say "$2 could not be installed; such text is drawn as boxes, and pages are flagged missing_glyphs"
}

set_up_web() {
  say "getting the frozen web: what pages load from elsewhere"
  if .venv/bin/uiproof web get --quiet >/dev/null; then
    say "the frozen web is complete"
  else
    say "the frozen web could not be had; pages do without what they load from elsewhere until: uiproof web get"
  fi
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    return 1
  fi
}

apt_install() {
  have apt-get || return 1
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends -qq -o DPkg::Lock::Timeout=300)
  # The package lists may be missing or too old; only then are they fetched.
  as_root "${install[@]}" "$@" >/dev/null 2>&1 && return
  as_root apt-get update -qq -o DPkg::Lock::Timeout=300 >/dev/null || return 1
  as_root "${install[@]}" "$@" >/dev/null
}

write_lock() {
  local uv
  uv=$(find_uv)
  say "pinning the dependencies of pyproject.toml in requirements.lock"
  # Neither the index nor paths belong into the file: it has to hold for every machine.
  "$uv" pip compile --quiet --no-config --universal --python-version 3.11 --all-extras --upgrade \
    --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
    --custom-compile-command "make lock" --output-file requirements.lock pyproject.toml
}

case "${1:-all}" in
  all)
    set_up_environment
    set_up_browser
    set_up_fonts
    set_up_web
    ;;
  environment) set_up_environment ;;
  browser) set_up_browser ;;
  fonts) set_up_fonts ;;
  web) set_up_web ;;
  lock) write_lock ;;
  *)
    printf 'setup: unknown step %s; known: all, environment, browser, fonts, web, lock\n' "$1" >&2
    exit 2
    ;;
esac
