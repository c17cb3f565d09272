#!/bin/bash
# The one header holds all headers of floors 1 and 2: single.sh INCLUDE HEADERS SINGLE
# HEADERS is a file that includes them.
include=$(readlink -f "$1") headers=$(readlink -f "$2") single=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"

guards() { # of headers
  sed -n 's/^#ifndef \(HARK_[A-Z0-9_]*_H\)$/\1/p' "$@" | LC_ALL=C sort
}
sed -n 's/^#include "\(.*\)"$/\1/p' "$headers" >listed
holds 'there are headers' [ "$(grep -c . listed)" -ge 40 ]
(cd "$include" && guards $(cat "$work/listed")) >expected
is 'each has a guard of its own' "$(grep -c . listed)" "$(sort -u expected | grep -c .)"
is 'headers of floors 1 and 2' "$(cat expected)" "$(guards "$single")"
finish
