#!/bin/sh
# Installs Fleetwatch's services from an archive, on Linux with systemd and on a Mac; on Debian and Ubuntu use the package instead.
# It loads nothing from anywhere. `--dry-run` shows each step and changes nothing; `--help` shows the rest.
set -eu

usage() {
    cat <<'HELP'
usage: install.sh [--dry-run] [--prefix DIR] [--root DIR] [--archive FILE [--sums FILE] | --tree DIR]
       install.sh --uninstall [--purge] [--dry-run] [--prefix DIR] [--root DIR]

  --dry-run       prints every step and changes nothing; needs no root
  --prefix DIR    programs go to DIR/bin and DIR/libexec/fleetwatch (/usr/local)
  --root DIR      installs into the system whose files lie in DIR, and starts nothing (Linux)
  --archive FILE  installs from this archive, after a look at its line in SHA256SUMS
  --sums FILE     that list (SHA256SUMS beside the archive)
  --tree DIR      installs from what packaging/tree has laid out
  --uninstall     stops the services and removes the programs; settings, secrets, state and users stay
  --purge         removes these too
  --system NAME   linux or macos; only with --dry-run

Without --archive and --tree it installs what lies beside it, after a look at SHA256SUMS there.
HELP
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

misused() {
    echo "install.sh: $*" >&2
    usage >&2
    exit 2
}

# Does one step, and says so.
run() {
    printf '  %s\n' "$*"
    if [ -z "$dry" ]; then "$@"; fi
}

# The same for a step that may find nothing to do.
try() {
    printf '  %s\n' "$*"
    if [ -z "$dry" ]; then "$@" 2>/dev/null || true; fi
}

say() {
    printf '%s\n' "$*"
}

# A text as a file of root.
text() {
    printf '  write %s (%s)\n' "$2" "$1"
    if [ -n "$dry" ]; then
        cat >/dev/null
    else
        cat >"$2.part"
        chown 0:0 "$2.part"
        chmod "$1" "$2.part"
        mv -f "$2.part" "$2"
    fi
}

# A folder of root that everybody may read, unless it is there.
folder() {
    case "
$folders" in
    *"
$1
"*) return ;;
    esac
    [ -d "$1" ] || run install -d -o 0 -g 0 -m 0755 "$1"
    folders="$folders$1
"
}

# A file of root; it is taken down for the day when all is removed.
put() {
    folder "$(dirname "$root$3")"
    run install -o 0 -g 0 -m "$1" "$2" "$root$3"
    files="$files$3
"
}

# The same with the programs' place put in.
put_at_prefix() {
    folder "$(dirname "$root$3")"
    sed "s|$from/libexec/fleetwatch|$prefix/libexec/fleetwatch|g" "$2" | text "$1" "$root$3"
    files="$files$3
"
}

# A file of settings: one that somebody has changed stays, and the new one lies beside it.
settings() {
    folder "$(dirname "$root$2")"
    if [ -e "$root$2" ] && ! cmp -s "$1" "$root$2"; then
        say "  $root$2 is another one and stays; the new one is $2.new"
        run install -o 0 -g 0 -m 0644 "$1" "$root$2.new"
    else
        run install -o 0 -g 0 -m 0644 "$1" "$root$2"
    fi
}

checked() {
    if command -v sha256sum >/dev/null; then
        sha256sum --check --status --strict "$1"
    else
        shasum -a 256 --check --status "$1"
    fi
}

unpack() {
    sums=${sums:-$(dirname "$archive")/SHA256SUMS}
    [ -f "$archive" ] || fail "no archive $archive"
    [ -f "$sums" ] || fail "no $sums: an archive whose sum nobody gave is not installed"
    name=$(basename "$archive")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$archive" "$work/$name"
    awk -v name="$name" '$2 == name || $2 == "*" name' "$sums" >"$work/sums"
    [ "$(wc -l <"$work/sums")" -eq 1 ] || fail "$sums has not one line for $name"
    (cd "$work" && checked sums) || fail "$name is not what $sums says: get it again"
    mkdir "$work/unpacked"
    tar -xzf "$work/$name" -C "$work/unpacked"
    here=$(echo "$work"/unpacked/*)
    [ -d "$here/tree" ] || fail "$name holds no Fleetwatch"
    tree=$here/tree
}

find_tree() {
    here=$(cd "$(dirname "$0")" && pwd)
    if [ -n "$archive" ]; then
        unpack
    elif [ -n "$tree" ]; then
        [ -d "$tree/usr/libexec/fleetwatch" ] || fail "$tree is not what packaging/tree lays out"
        here=$here/..
        return
    else
        tree=$here/tree
        [ -d "$tree" ] || fail "nothing to install lies beside it: --archive FILE or --tree DIR"
    fi
    [ -f "$here/SHA256SUMS" ] || fail "no $here/SHA256SUMS: the archive is not whole"
    (cd "$here" && checked SHA256SUMS) || fail "a file in $here is not what SHA256SUMS says: get the archive again"
}

programs() {
    say "programs"
    put 0755 "$tree/usr/bin/fleetwatchctl" "$prefix/bin/fleetwatchctl"
    for file in "$tree"/usr/libexec/fleetwatch/*; do
        put 0755 "$file" "$prefix/libexec/fleetwatch/$(basename "$file")"
    done
    say "man pages, completions, documentation"
    (cd "$tree/usr/share" && find . -type f | sed 's|^\./||' | sort) >"$list"
    while IFS= read -r file; do
        put 0644 "$tree/usr/share/$file" "$prefix/share/$file"
    done <"$list"
    say "settings"
    for file in "$tree"/etc/fleetwatch/*; do
        settings "$file" "/etc/fleetwatch/$(basename "$file")"
    done
}

# What an earlier version had and this one has not.
forget_old() {
    [ -f "$root$manifest" ] || return 0
    while IFS= read -r old; do
        case "
$files" in
        *"
$old
"*) ;;
        *) remove_one "$old" ;;
        esac
    done <"$root$manifest"
}

remember() {
    forget_old
    printf '%s' "$files" | text 0644 "$root$manifest"
}

# Only what this script can have put there.
remove_one() {
    case $1 in
    */../* | */..) fail "$manifest names $1, which no installation makes" ;;
    "$prefix"/bin/* | "$prefix"/libexec/* | "$prefix"/share/* | /etc/systemd/system/fleetwatch* | /etc/sysusers.d/fleetwatch.conf | \
        /etc/tmpfiles.d/fleetwatch.conf | /Library/LaunchDaemons/fleetwatch.*)
        run rm -f "$root$1"
        ;;
    *) fail "$manifest names $1, which no installation makes" ;;
    esac
}

linux_install() {
    [ ! -e "$root/usr/libexec/fleetwatch/fleetwatch-executor" ] || [ "$prefix" = /usr ] ||
        fail "Fleetwatch is installed as a package; use apt, or remove that first"
    command -v systemd-sysusers >/dev/null || [ -n "$dry" ] ||
        fail "no systemd here: run both daemons as one user, as the documentation says"
    if linux_runs && [ -z "$dry" ]; then
        version=$(systemctl --version | awk 'NR == 1 { print $2 + 0 }')
        [ "$version" -ge 252 ] || fail "systemd $version is too old for the units; they need 252"
    fi
    from=/usr
    programs
    say "services"
    for file in "$tree"/usr/lib/systemd/system/*; do
        put_at_prefix 0644 "$file" "/etc/systemd/system/$(basename "$file")"
    done
    put 0644 "$tree/usr/lib/sysusers.d/fleetwatch.conf" /etc/sysusers.d/fleetwatch.conf
    put 0644 "$tree/usr/lib/tmpfiles.d/fleetwatch.conf" /etc/tmpfiles.d/fleetwatch.conf
    remember
    say "users and folders"
    run systemd-sysusers --root="${root:-/}" fleetwatch.conf
    run systemd-tmpfiles --root="${root:-/}" --create fleetwatch.conf
    if linux_runs; then
        say "what runs is started anew"
        run systemctl daemon-reload
        run systemctl try-restart fleetwatch-executor.service fleetwatch-assistant.service
    fi
    who=$root/var/lib/fleetwatch-executor/principals.yaml
    if [ -z "$dry" ] && [ -s "$who" ] && [ "$(cat "$who")" != "[]" ]; then
        say "Installed. Who may decide stands in $who already."
        return 0
    fi
    say "Installed. Next, with the name of whoever may decide in the place of ANA:
  usermod --append --groups fleetwatch-operators,fleetwatch-agents ANA
  printf -- '- name: ANA\\n  uid: %s\\n  operator: true\\n' \"\$(id -u ANA)\" | runuser -u fleetwatch-executor -- tee /var/lib/fleetwatch-executor/principals.yaml
  systemctl enable --now fleetwatch.target"
}

linux_runs() {
    [ -z "$root" ] && { [ -d /run/systemd/system ] || [ -n "$dry" ]; }
}

linux_stop() {
    linux_runs || return 0
    say "stop"
    try systemctl disable --quiet fleetwatch.target
    run systemctl stop fleetwatch.target fleetwatch-assistant.service fleetwatch-executor.service \
        fleetwatch-ask.socket fleetwatch-control.socket fleetwatch-page.socket fleetwatch-propose.socket \
        'fleetwatch-waiting@*.service'
}

linux_forget() {
    run rm -rf "$root/etc/fleetwatch" "$root/var/lib/fleetwatch-executor" "$root/var/lib/fleetwatch-assistant"
    for secret in "$root"/etc/credstore/fleetwatch-* "$root"/etc/credstore.encrypted/fleetwatch-* \
        "$root"/etc/systemd/system/fleetwatch*.d "$root"/etc/systemd/system/*.wants/fleetwatch.target; do
        if [ -e "$secret" ] || [ -L "$secret" ]; then run rm -rf "$secret"; fi
    done
    for user in fleetwatch-executor fleetwatch-assistant; do
        try userdel --prefix "${root:-/}" "$user"
    done
    for group in fleetwatch-executor fleetwatch-assistant fleetwatch-operators fleetwatch-agents fleetwatch; do
        try groupdel --prefix "${root:-/}" "$group"
    done
}

# A number that no user and no group has; what has the name already keeps its own.
mac_number() {
    if [ -n "$dry" ]; then
        echo "A-FREE-NUMBER"
        return
    fi
    number=300
    while [ -n "$(dscl . -search /Users UniqueID "$number")$(dscl . -search /Groups PrimaryGroupID "$number")" ]; do
        number=$((number + 1))
    done
    echo "$number"
}

mac_group() {
    if [ -z "$dry" ] && dscl . -read "/Groups/$1" >/dev/null 2>&1; then return; fi
    run dscl . -create "/Groups/$1"
    run dscl . -create "/Groups/$1" PrimaryGroupID "$(mac_number)"
}

mac_user() {
    if [ -z "$dry" ] && dscl . -read "/Users/$1" >/dev/null 2>&1; then return; fi
    run dscl . -create "/Users/$1"
    run dscl . -create "/Users/$1" UniqueID "$(mac_number)"
    if [ -n "$dry" ]; then
        group="ITS-GROUP'S-NUMBER"
    else
        group=$(dscl . -read "/Groups/$1" PrimaryGroupID | awk '{ print $2 }')
    fi
    run dscl . -create "/Users/$1" PrimaryGroupID "$group"
    run dscl . -create "/Users/$1" UserShell /usr/bin/false
    run dscl . -create "/Users/$1" NFSHomeDirectory /var/empty
    run dscl . -create "/Users/$1" IsHidden 1
}

mac_install() {
    [ -z "$root" ] || fail "--root is for Linux alone"
    from=/usr/local
    [ -d "$here/launchd" ] || fail "no $here/launchd"
    programs
    put 0755 "$here/launchd/fleetwatch-launchd" "$prefix/libexec/fleetwatch/fleetwatch-launchd"
    say "users and folders"
    for name in fleetwatch-executor fleetwatch-assistant fleetwatch-operators fleetwatch-agents fleetwatch; do
        mac_group "$name"
    done
    mac_user fleetwatch-executor
    mac_user fleetwatch-assistant
    for both in fleetwatch-executor:fleetwatch-operators fleetwatch-assistant:fleetwatch-agents \
        fleetwatch-executor:fleetwatch fleetwatch-assistant:fleetwatch; do
        run dseditgroup -o edit -a "${both%:*}" -t user "${both#*:}"
    done
    run install -d -o fleetwatch-executor -g fleetwatch-executor -m 0700 /var/db/fleetwatch-executor
    run install -d -o fleetwatch-assistant -g fleetwatch-assistant -m 0700 /var/db/fleetwatch-assistant
    run install -d -o root -g wheel -m 0755 /var/db/fleetwatch /var/db/fleetwatch/propose
    run install -d -o fleetwatch-executor -g fleetwatch-operators -m 0750 /var/db/fleetwatch/control
    run install -d -o fleetwatch-assistant -g fleetwatch-agents -m 0750 /var/db/fleetwatch/ask
    people=/var/db/fleetwatch-executor/principals.yaml
    if [ ! -e "$people" ]; then
        say '[]' | text 0600 "$people"
        run chown fleetwatch-executor:fleetwatch-executor "$people"
    fi
    say "services"
    put_at_prefix 0644 "$here/launchd/fleetwatch.assistant.plist" /Library/LaunchDaemons/fleetwatch.assistant.plist
    put_at_prefix 0644 "$here/launchd/fleetwatch.executor.plist" /Library/LaunchDaemons/fleetwatch.executor.plist
    if [ -n "$dry" ]; then
        owner="THE-ASSISTANT'S-NUMBER"
    else
        owner=$(id -u fleetwatch-assistant)
    fi
    run plutil -replace Sockets.propose.SockPathOwner -integer "$owner" /Library/LaunchDaemons/fleetwatch.executor.plist
    remember
    say "Installed; this has never been tried on a Mac. Next, with the name of whoever may decide in the place of ANA:
  for group in fleetwatch-operators fleetwatch-agents; do sudo dseditgroup -o edit -a ANA -t user \$group; done
  write ANA with the number that 'id -u ANA' prints into $people
  for job in executor assistant; do sudo launchctl bootstrap system /Library/LaunchDaemons/fleetwatch.\$job.plist; done"
}

mac_stop() {
    say "stop"
    try launchctl bootout system/fleetwatch.assistant
    try launchctl bootout system/fleetwatch.executor
}

mac_forget() {
    run rm -rf /etc/fleetwatch /var/db/fleetwatch /var/db/fleetwatch-executor /var/db/fleetwatch-assistant
    for user in fleetwatch-executor fleetwatch-assistant; do
        try dscl . -delete "/Users/$user"
    done
    for group in fleetwatch-executor fleetwatch-assistant fleetwatch-operators fleetwatch-agents fleetwatch; do
        try dscl . -delete "/Groups/$group"
    done
}

uninstall() {
    if [ -f "$root$manifest" ]; then
        "${system}_stop"
        say "remove"
        while IFS= read -r file; do
            remove_one "$file"
        done <"$root$manifest"
        run rm -f "$root$manifest"
        try rmdir "$root$prefix/libexec/fleetwatch" "$root$prefix/share/doc/fleetwatch/docs" \
            "$root$prefix/share/doc/fleetwatch/examples" "$root$prefix/share/doc/fleetwatch"
        if [ "$system" = linux ]; then run rm -rf "$root/run/fleetwatch"; fi
        if [ "$system" = linux ] && linux_runs; then run systemctl daemon-reload; fi
    elif [ -e "$root/usr/libexec/fleetwatch/fleetwatch-executor" ]; then
        fail "Fleetwatch is installed here as a package; use apt"
    elif [ -e "$root/etc/systemd/system/fleetwatch-executor.service" ] || [ -e "$root/Library/LaunchDaemons/fleetwatch.executor.plist" ]; then
        fail "Fleetwatch is installed here with another --prefix; name it"
    elif [ -z "$purge" ]; then
        fail "nothing of this script is installed below $root$prefix: no $root$manifest"
    fi
    if [ -n "$purge" ]; then
        say "forget"
        "${system}_forget"
    else
        say "Settings, secrets, state and users stay; --purge removes them too."
    fi
}

dry='' prefix=/usr/local root='' archive='' sums='' tree='' remove='' purge='' system='' files='' work='' folders=''
while [ $# -gt 0 ]; do
    case $1 in
    --archive | --prefix | --root | --sums | --system | --tree)
        [ $# -ge 2 ] || misused "$1 wants a value"
        case $1 in
        --archive) archive=$2 ;;
        --prefix) prefix=$2 ;;
        --root) root=$2 ;;
        --sums) sums=$2 ;;
        --system) system=$2 ;;
        --tree) tree=$2 ;;
        esac
        shift
        ;;
    --dry-run) dry=yes ;;
    --help)
        usage
        exit 0
        ;;
    --purge) purge=yes ;;
    --uninstall) remove=yes ;;
    *) misused "$1 is not understood" ;;
    esac
    shift
done

case $prefix in
/*[!A-Za-z0-9/._+-]* | */../* | */.. | */) misused "--prefix wants a plain full path" ;;
/*) ;;
*) misused "--prefix wants a full path" ;;
esac
case $root in
'' | /?*) ;;
*) misused "--root wants a full path below /" ;;
esac
if [ -n "$root" ] && [ ! -d "$root" ]; then misused "--root $root is no folder"; fi
if [ -n "$purge" ] && [ -z "$remove" ]; then misused "--purge goes with --uninstall"; fi
if [ -n "$system" ] && [ -z "$dry" ]; then misused "--system is for --dry-run"; fi
case ${system:-$(uname -s)} in
Linux | linux) system=linux ;;
Darwin | macos) system=mac ;;
*) fail "this is neither Linux nor a Mac" ;;
esac
if [ -z "$dry" ] && [ "$(id -u)" != 0 ]; then fail "only root can: run it with sudo, or look first with --dry-run"; fi

umask 022
manifest=$prefix/libexec/fleetwatch/installed-files
if [ -n "$remove" ]; then
    uninstall
    exit 0
fi
find_tree
list=$(mktemp)
trap 'rm -rf "$work" "$list"' EXIT
"${system}_install"
