#!/bin/bash
# The seeds that are kept are those that jobs of today make: an image of another version would be refused at once, and teach a fuzzer
# nothing. seeds.sh FUZZ-SEEDS [--make]: with --make they are made anew.
set -eu
seeds=$1 corpus=$(cd "$(dirname "$0")/corpus" && pwd) passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/step" "$work/unpack" "$work/frame"
"$seeds" "$work"
for made in "$work"/*/*; do
  name=${made#"$work"/}
  [ "${2:-}" != --make ] || cp "$made" "$corpus/$name"
  if cmp -s "$made" "$corpus/$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$name is another: test/fuzz/seeds.sh $1 --make"; fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
