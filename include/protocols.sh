#!/bin/sh
# The protocols of the registry, a line each.
exec sed -n 's/^ *X(\([a-z0-9]*\), HARK_KIND.*/\1/p' "$1"
