# Boots this machine's own files as a container, changed by what is in STAGE: in a mount namespace of its own, with all changes in
# memory, so that nothing of it outlives the container. Arguments: an empty folder, STAGE, the container's name, then more for nspawn.
set -eu
work=$1 stage=$2 name=$3
shift 3
mount -t tmpfs -o size=512m,mode=0755 fleetwatch-tests "$work"
mkdir "$work/upper" "$work/work" "$work/merged"
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" fleetwatch-tests "$work/merged"
# Nothing of what this machine starts belongs into the test.
rm -rf "$work"/merged/etc/systemd/system/*.wants "$work"/merged/etc/systemd/system/*.requires
: >"$work/merged/etc/machine-id"
cp -a "$stage"/* "$work/merged/"
# Its own filter does not know Landlock yet.
exec systemd-nspawn --system-call-filter="landlock_create_ruleset landlock_add_rule landlock_restrict_self" --quiet --directory="$work/merged" --machine="$name" --boot --register=no --keep-unit --private-network \
    --console=pipe "$@" systemd.unit=basic.target
