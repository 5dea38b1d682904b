#!/usr/bin/env bash
# Installs the Debian packages the build needs. Silent and quick when all are there.
#
#   scripts/bootstrap.sh          what building and testing need
#   scripts/bootstrap.sh --lint   the format and lint tools as well
#
# FF_SKIP_BOOTSTRAP=1 turns it off, for systems where the parts come from elsewhere.
set -euo pipefail

packages=(
    g++ cmake ninja-build make ccache mold pkg-config git python3
    libsqlite3-dev sqlite3 libfmt-dev libcli11-dev libtomlplusplus-dev libgtest-dev librapidcheck-dev
    libpq-dev postgresql pgbouncer
    libboost1.81-dev libssl-dev curl openssl
)
lint_packages=(clang-tidy-19 clang-format-19)

for argument in "$@"; do
    case "$argument" in
        --lint) packages+=("${lint_packages[@]}") ;;
        *)
            echo "usage: scripts/bootstrap.sh [--lint]" >&2
            exit 2
            ;;
    esac
done

if [[ "${FF_SKIP_BOOTSTRAP:-}" == 1 ]]; then
    exit 0
fi

give_up() {
    echo "bootstrap: $1" >&2
    echo "bootstrap: please install: ${missing[*]}" >&2
    echo "bootstrap: (FF_SKIP_BOOTSTRAP=1 skips this check)" >&2
    exit 1
}

missing=("${packages[@]}")
if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    give_up "this system has no apt-get, so packages cannot be installed from here"
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2> /dev/null || true)
missing=()
for package in "${packages[@]}"; do
    if ! grep -qxF "$package installed" <<< "$installed"; then
        missing+=("$package")
    fi
done
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [[ $(id -u) -ne 0 ]]; then
    command -v sudo > /dev/null || give_up "not root, and there is no sudo"
    # Without a terminal nobody can type a password: fail instead of waiting.
    if [[ -t 0 && "${CI:-}" != true ]]; then
        as_root=(sudo "${as_root[@]}")
    else
        as_root=(sudo -n "${as_root[@]}")
    fi
fi

is_missing() {
    [[ " ${missing[*]} " == *" $1 "* ]]
}

# Debian starts a server as soon as its package is installed, and postgresql makes itself a cluster
# "main" to serve. Ours are only wanted while tests run (scripts/postgres.sh), so for the time of the
# installation one file says "no cluster" and one "start nothing". Both go afterwards; a policy that
# is there already stays as it is.
no_cluster=/etc/postgresql-common/createcluster.d/flowfabric.conf
no_start=/usr/sbin/policy-rc.d
written=()

write_as_root() { # path, mode, text
    written+=("$1")
    "${as_root[@]}" mkdir -p "$(dirname "$1")"
    "${as_root[@]}" tee "$1" <<< "$3" > /dev/null
    "${as_root[@]}" chmod "$2" "$1"
}

remove_written() {
    if [[ ${#written[@]} -gt 0 ]]; then
        "${as_root[@]}" rm -f "${written[@]}"
    fi
    if [[ " ${written[*]} " == *" $no_cluster "* ]]; then
        "${as_root[@]}" rmdir --ignore-fail-on-non-empty "$(dirname "$no_cluster")"
    fi
}

echo "bootstrap: installing ${missing[*]}"
trap remove_written EXIT
if is_missing postgresql; then
    write_as_root "$no_cluster" 644 "create_main_cluster = false"
fi
if { is_missing postgresql || is_missing pgbouncer; } && [[ ! -e $no_start ]]; then
    write_as_root "$no_start" 755 $'#!/bin/sh\nexit 101'
fi
"${as_root[@]}" apt-get update -qq < /dev/null || give_up "apt-get update failed"
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" < /dev/null \
    || give_up "apt-get install failed"
if is_missing pgbouncer; then
    "${as_root[@]}" update-rc.d pgbouncer disable # nor at the next boot
fi
