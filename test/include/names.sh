#!/bin/bash
# Protocols own their names and options: nothing in the sources, beside include/hark, names one of them or asks for its kind.
# names.sh SOURCE
source=$(readlink -f "$1")
. "$(dirname "$0")/../shell.sh"

protocols=$(sh "$source/include/protocols.sh" "$source/include/hark/registry.h" | grep -vx 'none\|recovery' | paste -sd'|') # none has many meanings; recovery is a process
options=$(cat "$source"/include/hark/*.h | tr -s ' \n' ' ' | grep -oE '\{"[a-z-]+", (NULL|"[A-Z]+"), "' | cut -d'"' -f2 | sort -u | paste -sd'|')
found() ( # where else than in comments, of files of the source
  local pattern=$1; shift
  cd "$source" && find "$@" -name '*.[ch]' -exec awk -v pattern="$pattern" '
    FNR == 1 { inside = 0 }
    { line = $0; if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
      gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line); if (sub(/\/\*.*/, "", line)) inside = 1
      if (line ~ pattern) print FILENAME ":" FNR ": " $0 }' {} +
)

holds 'there are protocols and options' [ "$(tr '|' '\n' <<<"$protocols|$options" | grep -c .)" -ge 10 ]
# `hark balance` and `hark partition` have a strategy and a cost called team.
is 'a protocol named' '' "$(found "\"($protocols)\"" src transports | grep -v '^src/cli/\(balance\|partition\)[a-z_]*\.c:.*"team"')"
is 'a kind asked for' '' "$(found "HARK_KIND_" src transports)"
# Who goes back is what the failure service answers: hark_service_by_cluster() and others; what a protocol is for, the registry.
rolls='HARK_ROLLS_|(->|[.])rolls[^a-z_]'
is 'who goes back, concluded from rolls' '' "$(found "$rolls" src transports)"
is 'a protocol looked up by a name that is written there' '' "$(found 'hark_protocol_named[(]"' src transports)"
is 'an option named' '' "$(found "\"(--)?($options)[\" =]" src transports)"
words=$(tr '|' '\n' <<<"$protocols" | grep -vx team | paste -sd'|') # teams are of PEs too
is 'a text with its name' '' "$(found "\"[^\"]*[^a-z]($words)[^a-z\"][^\"]*\"" src transports)"
# It finds what there is.
printf '/* "%s" */ x = "%s"; /* a\n "%s" */\ny = "see --protocol %s: HARK_KIND_%s";\n' hydee hydee hydee scmel SCMEL >"$work/some.c"
printf 'if (p->rolls == 1) x = hark_protocol_named("none"); /* rolls */\n' >>"$work/some.c"
is 'what there is' '1 3 3 4 4' "$(for pattern in "\"($protocols)\"" "HARK_KIND_" "\"[^\"]*[^a-z]($words)[^a-z\"][^\"]*\"" \
    "$rolls" 'hark_protocol_named[(]"'; do
  found "$pattern" "$work" | cut -d: -f2; done | paste -sd' ')"
finish
