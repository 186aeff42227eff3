#!/bin/sh
# Tests the messages of need.sh. If a tool is missing, the message depends on the distribution. Another message says
# that cargo is too old.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
# A PATH with only the tools that need.sh itself uses.
for tool in sh cat cut dirname head printf sed sort tr; do
    ln -s "$(command -v "$tool" | grep / || echo /bin/"$tool")" "$bare/$tool"
done

failed=0
expect() { # arguments: content of os-release, tool, words that need.sh must print
    echo "$1" >"$bare/os-release"
    said=$(PATH=$bare OS_RELEASE=$bare/os-release sh "$here/need.sh" "$2" 2>&1)
    status=$?
    case "$status $said" in
    "1 "*"$3"*) ;;
    *)
        echo "need.sh $2 on $1 ends with $status and does not say \"$3\": $said" >&2
        failed=1
        ;;
    esac
}

expect ID=debian cargo "apt install rustup"
expect 'ID=ubuntu
ID_LIKE=debian' cc "apt install gcc"
expect ID=fedora cc "dnf install gcc"
expect ID=arch cargo "pacman -S rustup"
expect ID=alpine cc "apk add gcc"
expect ID=other cargo "apk add rustup"

# A cargo that is too old.
printf '#!/bin/sh\necho "cargo 1.8.12 (0000000 2016-01-01)"\n' >"$bare/cargo"
chmod +x "$bare/cargo"
expect ID=debian cargo "too old"
exit $failed
