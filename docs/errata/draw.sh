#!/bin/bash
# Draws the pictures of errata.md again: each mutant is built, and its schedule replayed under it.  draw.sh [NAME...]
exec "$(dirname "$0")/../../test/mutants/run.sh" --draw "$@"
