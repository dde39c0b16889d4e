#!/bin/sh
# system_package.sh PACKAGE WHY [COMMAND...]: makes sure that a package of the operating system is there.
# With COMMANDs it does nothing when one of them exists. Root on Debian: installs it. Everybody else: prints the one
# command to type, and fails.
set -eu
package=$1 why=$2
shift 2

say() { printf '%s\n' "$*" >&2; }

for command in "$@"; do
    if command -v "$command" >/dev/null 2>&1; then exit 0; fi
done

if ! command -v apt-get >/dev/null 2>&1; then
    say "error: $package is missing ($why): install it with your system's package manager"
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    say "error: $package is missing ($why). To install it, type: sudo apt-get install -y $package"
    exit 1
fi

say "installing the system package $package ($why)"
mkdir -p .cache
log=.cache/apt-$package.log
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "$package"; } >"$log" 2>&1 </dev/null; then
    say "error: $package could not be installed: $(grep '^E:' "$log" | tail -1) (see $log)"
    exit 1
fi
say "$package is installed"
