#!/bin/sh
# Checks that the tools named as arguments (cargo, cc, ip) are installed. If a tool is missing, prints the command that
# installs the tool.
set -u

# The Rust version that the workspace needs.
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")

command_for() { # arguments: tool, distribution. Prints the command that installs the tool.
    case "$1 $2" in
    "cargo debian") echo "apt install rustup && rustup default stable" ;;
    "cargo fedora") echo "dnf install rustup && rustup-init -y" ;;
    "cargo arch") echo "pacman -S rustup && rustup default stable" ;;
    "cargo alpine") echo "apk add rustup && rustup-init -y" ;;
    "cc debian") echo "apt install gcc libc6-dev" ;;
    "cc fedora") echo "dnf install gcc" ;;
    "cc arch") echo "pacman -S gcc" ;;
    "cc alpine") echo "apk add gcc musl-dev" ;;
    "ip debian") echo "apt install iproute2" ;;
    "ip fedora") echo "dnf install iproute" ;;
    "ip arch") echo "pacman -S iproute2" ;;
    "ip alpine") echo "apk add iproute2" ;;
    esac
}

distribution() { # Prints the distribution by which command_for chooses. Prints nothing if the distribution is unknown.
    release=$(cat "${OS_RELEASE:-/etc/os-release}" 2>/dev/null)
    for id in $(echo "$release" | sed -n 's/^ID=//p; s/^ID_LIKE=//p' | tr -d '"'); do
        case $id in
        debian | ubuntu) echo debian; return ;;
        fedora | rhel) echo fedora; return ;;
        arch | alpine) echo "$id"; return ;;
        esac
    done
}

missing() { # arguments: tool, problem. Prints the problem and the commands that solve the problem.
    echo "error: $2. To install \`$1\`, run:" >&2
    here=$(distribution)
    for system in ${here:-debian fedora arch alpine}; do
        echo "  $(command_for "$1" "$system")    ($system)" >&2
    done
    status=1
}

old() { # argument: version. Succeeds if this version is below the required version.
    [ "$(printf '%s\n%s\n' "$rust" "$1" | sort -t . -k 1,1n -k 2,2n | head -n 1)" != "$rust" ]
}

status=0
for tool; do
    case $tool in
    cargo)
        if ! command -v cargo >/dev/null; then
            missing cargo "\`cargo\` is missing (Rust $rust or newer)"
        else
            version=$(cargo --version | cut -d ' ' -f 2)
            if old "$version"; then missing cargo "Rust $version is too old; $rust or newer is needed"; fi
        fi
        ;;
    cc) command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
        missing cc "a C compiler (\`cc\`) is missing" ;;
    ip) command -v ip >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v ip >/dev/null ||
        missing ip "the command \`ip\` is missing" ;;
    *)
        echo "error: need.sh does not know the tool \`$tool\`; it checks cargo, cc and ip" >&2
        status=2
        ;;
    esac
done
exit $status
