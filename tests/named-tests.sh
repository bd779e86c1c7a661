# Sourced by tests/spec-000 and tests/guards: what a page's `file.rs::test` means to cargo and to the test programs.

# Package and target of a test's file, as cargo wants them.
target_of() {
    local file=$1 folder=${1%%/*} rest
    rest=${file#*/}
    case $folder in
        assistant) printf -- '-p fleetwatch-assistant' ;;
        ctl) printf -- '-p fleetwatchctl' ;;
        executor) printf -- '-p fleetwatch-executor' ;;
        sim) printf -- '-p fleetwatch-sim' ;;
        tests) printf -- '-p fleetwatch-tests' ;;
        *) printf -- '-p %s' "$folder" ;;
    esac
    case $rest in
        # tests/NAME.rs and what lies in a folder tests/NAME/ are both the target NAME.
        tests/*) rest=${rest#tests/}; rest=${rest%%/*}; printf -- ' --test %s\n' "${rest%.rs}" ;;
        src/*)
            case $folder in
                assistant | ctl | sim) printf -- ' --bins\n' ;;
                *) printf -- ' --lib\n' ;;
            esac ;;
        *) return 1 ;;
    esac
}

# all_exist PAGE TEST...: whether each file, test and target is there.
all_exist() {
    local page=$1 one file name missing=0
    shift
    for one in "$@"; do
        file=${one%%::*} name=${one##*::}
        if [ ! -f "$file" ]; then
            echo "$page: there is no file $file" >&2
            missing=1
        elif ! grep -qE "^ *(pub )?(async )?fn $name\(" "$file"; then
            echo "$page: $file has no test $name" >&2
            missing=1
        elif ! target_of "$file" >/dev/null; then
            echo "$page: $file belongs to no target" >&2
            missing=1
        fi
    done
    return "$missing"
}

# full_name TEST NAME...: the one among these names of a test program, as it lists them, that is this test.
full_name() {
    local one=$1 name=${1##*::} stem full found=()
    shift
    stem=$(basename "${one%%::*}" .rs)
    # Two files may have a test of one name: the module is the file, or hangs below it.
    for full in "$@"; do
        [ "${full##*::}" != "$name" ] || found+=("$full")
    done
    if [ "${#found[@]}" -gt 1 ]; then
        mapfile -t found < <(printf '%s\n' "${found[@]}" | grep -E "(^|::)${stem%_tests}::" || true)
    fi
    if [ "${#found[@]}" != 1 ]; then
        echo "$one: ${#found[@]} tests of that name" >&2
        return 1
    fi
    printf '%s\n' "${found[0]}"
}
