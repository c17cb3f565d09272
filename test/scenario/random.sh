#!/bin/bash
# Programs made by chance, for every protocol: searched as far as STATES go, others walked. random.sh HARK SEED COUNT [STATES [WALKS]]
set -u
hark=$(readlink -f "$1") seed=$2 count=$3 states=${4:-10000} walks=${5:-100}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
passed=0 failed=0
cd "$work" || exit 2
for p in coordinated hydee scmel team camel sendet "hydee --report-tree 2"; do
  for how in "--max-states $states" "--walks $walks --max-states 50000"; do
    "$hark" check --protocol $p --random "$seed:$count" $how >out 2>&1
    status=$?
    if [ $status = 0 ] || { [ $status = 3 ] && ! grep -q 'not searched whole' out; }; then passed=$((passed + 1)); else # 3: as far as STATES go
      failed=$((failed + 1))
      echo "FAILED hark check --protocol $p --random $seed:$count $how"
    fi
    sed 's/^/    /' out
    seed=$((seed + count))
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
