#!/bin/bash
# Recordings, and what hark compare says of them: recording.sh HARK PROGRAM PYTHON
hark=$(readlink -f "$1") program=$(readlink -f "$2") python=$3 reader=$(readlink -f "$(dirname "$0")/recording.py")
. "$(dirname "$0")/../shell.sh"

record() { # file, mode, options
  local file=$1 mode=$2; shift 2
  timeout 60 "$hark" run -n 3 --protocol none "$@" --record "$file" -- "$program" "$mode" >out 2>err </dev/null
}
compare() { timeout 60 "$hark" compare "$@" >out 2>err; }

for mode in same order contents tag length more answer; do
  record $mode $mode && ! grep -q . err && good || bad "record $mode"
  is "the reader: $mode" "$([ $mode = more ] && echo 11 11 || echo 10 10)" "$("$python" "$reader" $mode 2>&1)"
done
record again same

says() { # first line and status, expected lines or parts of them, one an argument; of the last comparison
  local word=$1 status=$2 found=$?; shift 2
  is "the word" "$word $status" "$(head -1 out) $found"
  for line in "$@"; do
    if grep -qF -- "$line" out; then good; else bad "compare: expected \"$line\""; fi
  done
}
compare same again; says deterministic 0 '2 recordings of recorded, 3 processes: 10 sends on 6 channels, 10 deliveries'
compare same order; says send-deterministic 1 'deliveries differ: order; in 1 of 3 processes' \
  'the first: delivery 1 of rank 0' 'same: message 1 of rank 1 (context 0: messages)' 'order: message 1 of rank 2 (context 0: messages)'
compare --sends same order; says send-deterministic 0
compare same contents; says neither 1 'sends differ: contents; on 1 of 6 channels, in contents only' \
  'the first: message 2 of rank 2 to rank 0 (context 0: messages)' 'same: tag 7, 16 bytes, digest ' 'contents: tag 7, 16 bytes, digest ' \
  'rank 2 sent something else after it had received the same'
compare same tag; says neither 1 'sends differ: tag; on 1 of 6 channels' 'the first: message 2 of rank 2 to rank 0' \
  'same: tag 7, 16 bytes' 'tag: tag 8, 16 bytes'
compare same length; says neither 1 'same: tag 7, 16 bytes' 'length: tag 7, 24 bytes'
compare same more; says neither 1 'the first: message 4 of rank 2 to rank 0' 'same: no such message' 'more: tag 7, 8 bytes' \
  'the first: delivery 7 of rank 0'
record aside aside # a channel that only one of the two has counts too
compare same aside; says neither 1 'sends differ: aside; on 1 of 7 channels'
compare aside same; says neither 1 'sends differ: same; on 1 of 7 channels'
compare more same; says neither 1 'the first: message 4 of rank 2 to rank 0' 'same: no such message'
# Rank 0 sent something else because it had received in another order: no other reason is named.
compare same answer; says neither 1 'the first: message 1 of rank 0 to rank 1 (context 0: messages)'
is 'no reason but the order' 0 "$(grep -c 'sent something else' out)"
# Several, and as JSON.
compare --json figures same again order contents; says neither 1 'sends differ: contents;' 'deliveries differ: order;' '4 recordings'
holds 'the JSON' "$python" -c '
import json
x = json.load(open("figures"))
assert x["schema"] == 1 and x["command"] == "compare" and x["result"] == "neither", x
assert (x["ranks"], x["sends"], x["deliveries"], x["channels"]) == (3, 10, 10, 6), x
again, order, contents = x["compared"]
assert again["first_send"] is None and again["first_delivery"] is None and again["unprompted"] is None, again
assert order["first_send"] is None and order["first_delivery"]["this"] == {"from": 2, "context": 0, "number": 1}, order
first = contents["first_send"]
assert (first["from"], first["to"], first["context"], first["number"]) == (2, 0, 0, 2), first
assert first["first"]["tag"] == 7 and first["first"]["digest"] != first["this"]["digest"], first
assert contents["channels_differ"] == 1 and contents["channels_differ_in_shape"] == 0 and contents["unprompted"] == 2, contents
'

# A clock: other contents in each run, unless it is steady.
record clock1 clock && record clock2 clock; compare clock1 clock2; says neither 1 'message 1 of rank 1' 'in contents only'
record clock1 clock --steady && record clock2 clock --steady --protocol hydee; compare clock1 clock2; says deterministic 0

# Every protocol and transport; the matrix of the same run has the same bytes.
for protocol in coordinated hydee sendet scmel team camel; do
  record first same --protocol $protocol --interval 1ms --write-matrix matrix && record second same --protocol $protocol --transport uv
  compare first second; says deterministic 0
  if [ $protocol = camel ]; then holds "the reader: $protocol" "$python" "$reader" first
  else holds "the reader: $protocol" "$python" "$reader" first matrix; compare same first; says deterministic 0; fi
done

# Recordings that are of no use.
record killed same --protocol hydee --kill 0@4
is 'a failure is said' 1 "$(grep -c '^hark: --record killed: processes died' err)"
refused() { # what is on standard error, arguments
  local text=$1; shift
  compare "$@"
  is "refused: $*" "2 $text" "$? $(cat err)"
}
refused 'hark compare: killed: processes died in its run: record a run without failures' same killed
record failed fail
refused 'hark compare: failed: its run did not end well: rank 0 did not finalize' same failed
refused 'hark compare: expected at least two recordings, which `hark run --record FILE` writes, found 1' same
refused 'hark compare: missing: No such file or directory' same missing
refused "hark compare: $program: it is not a recording of \`hark run --record\`" same "$program"
timeout 60 "$hark" run -n 2 --protocol none --record two -- "$program" >out 2>err
refused 'hark compare: same has 3 processes and two has 2: record runs with the same number' same two
cp "$program" other
timeout 60 "$hark" run -n 3 --protocol none --record other.record -- ./other >out 2>err
refused "hark compare: same is a recording of recorded, and other.record of other: record runs of the same program" same other.record
bad_run() { # what is on standard error, options
  local text=$1; shift
  timeout 60 "$hark" run -n 3 "$@" -- "$program" >out 2>err
  is "hark run $*" "2 hark run: $text" "$? $(cat err)"
}
bad_run '--record cannot be used with --resume: the job would be recorded from its middle on' --record x --store s --resume
bad_run '--steady needs --record FILE: its clocks are of use to compare runs only' --steady
bad_run '--steady cannot be used with --journal none: the readings that --journal lists are steady' --steady --record x --journal none
timeout 60 "$hark" run -n 3 --record missing/x -- "$program" >out 2>err
is 'no such directory' '2 hark run: --record missing/x: No such file or directory' "$? $(cat err)"

# Damaged ones are refused, or are other recordings; nothing worse.
size=$(stat -c %s same)
for ((i = 0; i < size; i += 7)); do
  head -c $i same >cut
  compare same cut; [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && good || bad "cut after $i bytes"
  { head -c $i same; printf '\377'; tail -c +$((i + 2)) same; } >changed
  compare same changed; [ $? -le 2 ] && good || bad "byte $i changed"
done
finish
