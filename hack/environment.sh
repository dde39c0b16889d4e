#!/bin/sh
# Makes .venv: Python 3.11 or newer, the exact packages of requirements.lock, and this project (editable).
# Says nothing and does nothing when it is up to date. Takes `PYTHON=...` for an interpreter of your choice.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

wanted=$(cat requirements.lock pyproject.toml | cksum)
stamp=.venv/installed
up_to_date() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; }

up_to_date && exit 0

# Two targets at once must not both install; a machine without flock has to do without this.
mkdir -p .cache
if command -v flock >/dev/null 2>&1; then
    exec 9>.cache/environment.lock
    flock -n 9 || { say "another make is preparing .venv: waiting"; flock 9; }
    up_to_date && exit 0
fi

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
if ! .venv/bin/python -c '' 2>/dev/null || ! fits .venv/bin/python; then
    python=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if fits "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || fail "Python 3.11 or newer is needed and none was found (to name one: make PYTHON=/path/to/python3 ...)"
    say "making .venv with $("$python" -V 2>&1)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        sh hack/system_package.sh "python$version-venv" "to make environments (Debian keeps that apart from Python)"
    fi
    rm -rf .venv
    "$python" -m venv .venv || fail "$python -m venv .venv did not work"
fi

log=.cache/install.log
count=$(grep -c '==' requirements.lock)
say "installing $count packages of requirements.lock, then this project (output: $log)"
(
    .venv/bin/python -m pip install --disable-pip-version-check --no-input --require-hashes -r requirements.lock &&
    HATCH_BUILD_NO_HOOKS=true .venv/bin/python -m pip install --disable-pip-version-check --no-input --no-deps --editable .
) >"$log" 2>&1 </dev/null &
pip=$!
trap 'kill $pip 2>/dev/null; exit 130' INT TERM HUP
seconds=0
while kill -0 $pip 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    if [ $((seconds % 10)) = 0 ]; then
        say "  $seconds s, $(grep -c -E '^(Collecting|Requirement already)' "$log") of $count packages found"
    fi
done
wait $pip || fail "the packages could not be installed: $(grep -i '^error' "$log" | tail -1) (see $log)"
printf '%s\n' "$wanted" >"$stamp"
say ".venv is ready after $seconds s"
