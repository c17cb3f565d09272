#!/bin/bash
# The completion of a shell, by that shell, from an install: every option of every subcommand, as the command knows them, is
# offered, and no other; the words that are offered for one are taken by the command. completion.sh BUILD OPTIONS SHELL
here=$(cd "$(dirname "$0")" && pwd) build=$(readlink -f "$1") options=$(readlink -f "$2") shell=$3
. "$here/install.sh"
hark=$prefix/bin/hark
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work PATH=$prefix/bin:$PATH
mkdir -p empty && touch empty/some.file && mkdir empty/folder

# What is offered for the last of these words, a line each.
case $(basename "$shell") in
bash)
  file=$prefix/share/bash-completion/completions/hark
  offered() {
    (cd empty && "$shell" --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hark
      printf "%s\n" "${COMPREPLY[@]}"' "$file" "$@" 2>&1)
  } ;;
zsh) # _arguments is given what it would offer: the options, and for the argument of one its action
  file=$prefix/share/zsh/site-functions/_hark
  cat >ask.zsh <<'END'
_describe() { eval "print -rl -- \${${2}%%:*}" }
compadd() { shift; print -rl -- "$@" }
_arguments() {
  local spec option
  for spec in "$@[2,-1]"; do
    option=${${spec%%\[*}%=}
    if [[ $wanted = -* && $option = -* ]]; then print -r -- $option
    elif [[ $option = $before || $CURRENT = 2 && $option = 1:argument:* ]]; then
      local action=${spec##*:argument:}
      if (( $+functions[$action] )); then $action; continue; fi
      action=${${action//[()\":]/ }//_files -\// folder}
      [[ $spec = *:argument:* ]] && print -rl -- ${(z)action//_files/ folder some.file}
    fi
  done
}
file=$1; shift
words=("$@") CURRENT=$# wanted=${@[-1]} before=${@[-2]}
_load() { . $file }
_load
END
  offered() { (cd empty && "$shell" -f "$work/ask.zsh" "$file" "$@" 2>&1) ; } ;;
fish)
  file=$prefix/share/fish/vendor_completions.d/hark.fish
  offered() {
    (cd empty && "$shell" --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$file" "$*" 2>&1 | cut -f 1)
  } ;;
esac
sorted() { grep -v '^$' | LC_ALL=C sort -u | tr '\n' ' '; }
has() { local word=$1; shift; offered "$@" | sed 's|/$||' | grep -qx -e "$word"; }

"$shell" -n "$file" >out 2>err || bad "$file: no syntax of $shell"
subcommands=$("$hark" help | sed -n '1s/^usage: hark \([a-z|]*\) .*/\1/p' | tr '|' '\n')
is 'subcommands' "$(printf '%s\n' "$subcommands" help | sorted)" "$(offered hark '' | grep -v -e --version | sorted)"
for sub in $subcommands; do
  "$options" "$sub" >known
  grep -q '^--help' known || bad "hark $sub: options"
  is "hark $sub --" "$(sed -n 's/^\(--[a-z-]*\).*/\1/p' known | sorted)" \
    "$(offered hark "$sub" -- | grep -o -e '^--[a-z-]*$' | sorted)"
done

is 'hark store' "list verify " "$(offered hark store '' | sorted)"
topics=$("$hark" help '?' 2>&1 | sed -n 's/.*expected \(.*\), found.*/\1/p' | sed 's/ or /, /; s/,//g' | tr ' ' '\n')
is 'hark help' "$(echo "$topics" | sorted)" "$(offered hark help '' | sorted)"

# Jobs that run. `hark ps` looks into /tmp too, so other jobs may begin and end meanwhile: only this one is looked for.
"$hark" run -n 1 -- sh -c 'touch runs; while [ ! -e go ]; do sleep 0.1; done' >out 2>&1 </dev/null &
run=$!
for ((i = 0; i < 200; i++)); do [ -e runs ] && break; sleep 0.1; done
job=$("$hark" ps | grep -o "^hark-$run-[^ ]*")
holds 'a job runs' test -n "$job"
is 'hark ps' "$job" "$(offered hark ps '' | grep "^hark-$run-")"
touch go
wait $run

# Words of options: the command refuses none of them.
words() { # option, how the command is called for it: with WORD in its place; what else is offered
  local option=$1 word words; shift
  words=$(offered hark "$1" "$option" '' | grep -vE '^(some.file|folder|_alternative|words|files|$)')
  [ "$(echo "$words" | wc -l)" -ge 2 ] || bad "hark $1 $option: no words"
  for word in $words; do
    "$hark" "${@//WORD/$word}" >out 2>&1 </dev/null
    grep -q -e "$option: expected\|is named\|no pattern" out && bad "hark $1 $option $word" || good
  done
  is "hark $1 $option, a word that there is not, is refused" 2 \
    "$("$hark" "${@//WORD/?}" >/dev/null 2>&1 </dev/null; echo $?)"
}
printf '%%%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 5\n2 1 5\n' >two.mtx
printf '1\n1\n' >two.csv
words --protocol run --protocol WORD -n 1 -- true
words --transport run --transport WORD -n 1 -- true
words --protocol check --protocol WORD none
words --pattern sim --pattern WORD --ranks 64 --iterations 1 --write-matrix /dev/null
words --cost partition two.mtx --cost WORD
words --effort partition two.mtx --effort WORD
words --backend partition two.mtx --backend WORD
words --strategy balance two.csv two.mtx --pes 2 --teams 1 --strategy WORD

# Files and folders.
holds 'a file' has some.file hark run --json ''
holds 'a folder' has folder hark run --store ''
holds 'no file for a folder' test -z "$(offered hark run --store '' | grep some.file)"
holds 'a file beside words' has some.file hark run --clusters ''
holds 'words beside files' has auto hark run --clusters ''
holds 'no files for a number' test -z "$(offered hark run --copies '' | grep some.file)"
finish
