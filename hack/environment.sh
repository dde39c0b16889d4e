#!/bin/sh
# Makes .venv: Python 3.11 or newer, the exact packages of requirements.lock, and this project (editable).
# With the argument `control-plane` the programs of the control plane are fetched or built at the same time.
# Does nothing when all of it is current. `PYTHON=...` names an interpreter of your choice.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

case ${1-} in
"" | control-plane) ;;
*) say "usage: environment.sh [control-plane]"; exit 2 ;;
esac

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if fits "$candidate"; then printf '%s' "$candidate"; return; fi
    done
    fail "Python 3.11 or newer is needed and none was found (to name one: make PYTHON=/path/to/python3 ...)"
}

# These modules need only the standard library, so that the long build starts before the packages are installed.
if [ "${1-}" = control-plane ]; then
    python=$(find_python)
    PYTHONPATH=hack "$python" -m checklist_dev.programs.binaries >/dev/null &
    programs=$!
    trap 'kill $programs 2>/dev/null; exit 130' INT TERM HUP
    sh "$0" || { kill $programs 2>/dev/null; exit 1; }
    wait $programs || exit 1
    exit 0
fi

wanted=$(cat requirements.lock pyproject.toml | cksum)
stamp=.venv/installed
up_to_date() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; }

up_to_date && exit 0

# Concurrent targets must not both install; without flock there is no protection.
mkdir -p .cache
if command -v flock >/dev/null 2>&1; then
    exec 9>.cache/environment.lock
    flock -n 9 || { say "another make is preparing .venv: waiting"; flock 9; }
    up_to_date && exit 0
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1 || ! fits .venv/bin/python; then
    python=$(find_python)
    say "making .venv with $("$python" -V 2>&1)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        sh hack/system_package.sh "python$version-venv" "to make environments (Debian keeps that apart from Python)"
    fi
    rm -rf .venv
    "$python" -m venv .venv || fail "$python -m venv .venv did not work"
fi

log=.cache/install.log
: >"$log"
pip=".venv/bin/python -m pip --disable-pip-version-check --no-input"

# uv installs in a sixth of pip's time, from the same lock file and hashes. CHECKLISTS_INSTALLER=pip uses pip instead.
with_uv() {
    uv=$(sh hack/installer/uv.sh) || return 1
    $uv pip install --python .venv/bin/python --require-hashes -r requirements.lock &&
        HATCH_BUILD_NO_HOOKS=true $uv pip install --python .venv/bin/python --no-deps --no-build-isolation --editable .
}
with_pip() {
    $pip install --require-hashes -r requirements.lock &&
        HATCH_BUILD_NO_HOOKS=true $pip install --no-deps --no-build-isolation --editable .
}
install() {
    case ${CHECKLISTS_INSTALLER:-uv} in
    uv) with_uv || { echo "uv failed: trying pip"; with_pip; } ;;
    pip) with_pip ;;
    *) echo "error: CHECKLISTS_INSTALLER is uv or pip"; return 1 ;;
    esac
}

count=$(grep -c '==' requirements.lock)
say "installing $count packages of requirements.lock, then this project (output: $log)"
started=$(date +%s)
install >>"$log" 2>&1 </dev/null &
installing=$!
trap 'kill $installing 2>/dev/null; exit 130' INT TERM HUP
ticks=0
while kill -0 $installing 2>/dev/null; do
    sleep 0.5
    ticks=$((ticks + 1))
    if [ $((ticks % 20)) = 0 ]; then
        say "  $(($(date +%s) - started)) s, $(tail -1 "$log" | cut -c1-100)"
    fi
done
wait $installing || fail "the packages could not be installed: $(grep -i '^error' "$log" | tail -1) (see $log)"
printf '%s\n' "$wanted" >"$stamp"
say ".venv is ready after $(($(date +%s) - started)) s"
