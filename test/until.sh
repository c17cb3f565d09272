# For shell tests to source: to wait for what is to happen, and not longer than it can take.
until_true() { # seconds, command...
  local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)); shift
  until "$@"; do
    [ "${EPOCHREALTIME/[.,]/}" -lt $end ] || return 1
    sleep 0.01
  done
}
