#!/usr/bin/env python3
"""Writes the completion of a shell from what the command knows: completion.py HARK OPTIONS bash|zsh|fish > FILE

OPTIONS (options.c) prints the options of a subcommand as getopt_long is given them. What kind of argument one takes
and what it does is in `hark help SUBCOMMAND`; which words, the command says when it is given another one."""
import re
import subprocess
import sys
import tempfile


class Option:
    def __init__(self, name, argument):
        self.name, self.argument = name, argument
        self.kind, self.words, self.about = "", [], ""


def said(*command):
    with tempfile.TemporaryDirectory() as nothing:  # in which no file has the name that is given for one
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              cwd=nothing)
    return done.stdout + done.stderr


def described(option, text):
    """Its argument and what it does, from where help has it:
    "--json FILE, --csv FILE   the figures;  --svg FILE  a picture"."""
    for line in text.splitlines():
        if not re.match(r" +-", line):
            continue
        for part in re.split(r"; {2,}", line.strip()):
            spec, _, about = (re.split(r"( {2,})", part, maxsplit=1) + ["", ""])[:3]
            found = re.search(r"(^|[ ,])" + re.escape(option.name) + r"(?=[ ,]|$)( [A-Z][^ ,]*)?", spec)
            if spec.startswith("-") and found:
                return (found.group(2) or "").strip(), about
    found = re.search(r"\[?" + re.escape(option.name) + r" ([A-Z]+)", text)
    return (found.group(1) if found else ""), ""


def words(hark, subcommand, option, text):
    if option.name == "--pattern":
        patterns = re.search(r"^Patterns\n((?: .*\n)+)", text, re.MULTILINE)
        return re.findall(r"^  ([a-z0-9-]+)  ", patterns.group(1), re.MULTILINE) if patterns else []
    if option.name == "--protocol":
        subcommand = "run"
    rest = {"run": ["--", "true"], "partition": ["matrix"],
            "balance": ["loads", "matrix", "--pes", "2", "--teams", "1"]}
    refusal = said(hark, subcommand, option.name, "?", *rest.get(subcommand, []))
    found = re.search(re.escape(option.name) + r": expected (?:one of )?([a-z+,\- ]+), found \"\?\"", refusal)
    list_of = re.split(r", | or ", found.group(1)) if found else []
    return list_of if len(list_of) > 1 and not any(" " in word for word in list_of) else []


def read(hark, options):
    """Subcommands, with what they do, the words that may follow, and their options; and what `hark help` explains."""
    text = said(hark, "help")
    names = re.match(r"usage: hark ([a-z|]+)", text).group(1).split("|")
    table = {}
    for name in names:
        about = re.search(rf"^ +{name} +(.*)$", text, re.MULTILINE)
        own, help_text = [], said(hark, "help", name)
        for line in said(options, name).splitlines():
            if not re.fullmatch(r"--?[a-z-]+( ARG)?", line):
                continue  # one that reads its arguments otherwise has said how it is used
            option = Option(line.split()[0], line.endswith(" ARG"))
            meta, option.about = described(option, help_text)
            if "DIR" in meta:
                option.kind = "directory"
            elif "FILE" in meta or meta == "OUT" or option.name == "--pattern":
                option.kind = "file"
            option.words = words(hark, name, option, help_text) if option.argument else []
            if "|auto" in meta:
                option.words = ["auto"]
            own.append(option)
        follow = re.findall(rf"^(?:usage:|      ) hark {name} ([a-z]+) ", help_text, re.MULTILINE)
        table[name] = (about.group(1) if about else "", follow, own)
    topics = re.search(r"expected ([a-z, ]+), found", said(hark, "help", "?")).group(1)
    return table, re.split(r", | or ", topics)


# The jobs that run on this machine.
JOBS = 'hark ps 2>/dev/null | grep -o "^hark-[^ :]*"'


def bash(table, topics):
    print("""# bash completion of hark; made from its options.
_hark()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= i
    [ "$word" = = ] && word=
    [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [ "${COMP_WORDS[COMP_CWORD]}" = = ] && before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then""")
    print(f"        COMPREPLY=($(compgen -W '{' '.join(table)} help --version' -- \"$word\"))")
    print("        return\n    fi")
    print("    if [ \"${COMP_WORDS[1]}\" = help ]; then")
    print(f"        COMPREPLY=($(compgen -W '{' '.join(topics)}' -- \"$word\"))\n        return\n    fi")
    print("""    for ((i = 2; i < COMP_CWORD; i++)); do # behind -- comes a program with its own arguments
        if [ "${COMP_WORDS[i]}" = -- ]; then
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -f -- "$word") $([ "$before" = -- ] && compgen -c -- "$word"))
            return
        fi
    done
    case ${COMP_WORDS[1]}$before in""")
    for name, (_, _, own) in table.items():
        for option in own:
            if not option.argument:
                continue
            replies = [f"$(compgen -W '{' '.join(option.words)}' -- \"$word\")"] if option.words else []
            if option.kind:
                replies.append(f"$(compgen {'-d' if option.kind == 'directory' else '-f'} -- \"$word\")")
            files = "compopt -o filenames 2>/dev/null; " if option.kind else ""
            print(f"    {name}{option.name}) {files}COMPREPLY=({' '.join(replies)}); return ;;")
    print("    esac\n    case ${COMP_WORDS[1]} in")
    for name, (_, _, own) in table.items():
        print(f"    {name}) words='{' '.join(option.name for option in own)}' ;;")
    print("""    esac
    case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")); return ;;
    esac
    case ${COMP_WORDS[1]}$COMP_CWORD in""")
    for name, (_, follow, _) in table.items():
        if follow:
            print(f"    {name}2) COMPREPLY=($(compgen -W '{' '.join(follow)}' -- \"$word\")) ;;")
    print(f"    ps*) COMPREPLY=($(compgen -W \"$({JOBS})\" -- \"$word\")) ;;")
    print("""    *) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -F _hark hark""")


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(table, topics):
    def spec(option):
        about = re.sub(r"([\[\]\\:])", r"\\\1", option.about)
        action = "_files -/" if option.kind == "directory" else "_files" if option.kind else ""
        if option.words:
            words_of = f"({' '.join(option.words)})"
            action = f"_alternative \"words::{words_of}\" \"files::{action}\"" if action else words_of
        equal = "=" if option.argument and option.name.startswith("--") else ""
        return quoted(f"{option.name}{equal}[{about}]" + (f":argument:{action}" if option.argument else ""))
    print("#compdef hark\n# zsh completion of hark; made from its options.")
    print(f"_hark_jobs() {{ compadd -- $({JOBS}) }}")
    print("_hark()\n{\n    local -a subcommands=(")
    for name, (about, _, _) in table.items():
        print(f"        '{name}:{quoted(about)}'")
    print("""        'help:what a subcommand does'
    )
    if (( CURRENT == 2 )); then
        _describe subcommand subcommands
        compadd -- --version
        return
    fi
    if [[ ${words[2]} = help ]]; then""")
    print(f"        compadd -- {' '.join(topics)}")
    print("""        return
    fi
    local subcommand=${words[2]}
    shift words
    (( CURRENT-- ))
    case $subcommand in""")
    for name, (_, follow, own) in table.items():
        print(f"    {name})\n        _arguments -S \\")
        for option in own:
            print(f"            '{spec(option)}' \\")
        rest = "'(-)1: :_files' '*::argument:_normal'" if name == "run" else "'*: :_files'"
        if name == "ps":
            rest = "1:argument:_hark_jobs"
        if follow:
            rest = f"'1:argument:({' '.join(follow)})' {rest}"
        print(f"            {rest} ;;")
    print("    esac\n}\n_hark \"$@\"")


def fish(table, topics):
    print("# fish completion of hark; made from its options.")
    print("complete -c hark -n __fish_use_subcommand -f")
    for name, (about, _, _) in table.items():
        print(f"complete -c hark -n __fish_use_subcommand -f -a {name} -d '{quoted(about)}'")
    print("complete -c hark -n __fish_use_subcommand -f -a help -d 'what a subcommand does'")
    print("complete -c hark -n __fish_use_subcommand -f -l version")
    print(f"complete -c hark -n '__fish_seen_subcommand_from help' -f -a '{' '.join(topics)}'")
    for name, (_, follow, own) in table.items():
        for option in own:
            kind = f" -l {option.name[2:]}" if option.name.startswith("--") else f" -s {option.name[1:]}"
            if option.argument:
                kind += " -r -F" if option.kind == "file" else " -x"
                offered = [" ".join(option.words)] if option.words else []
                if option.kind == "directory":
                    offered.append("(__fish_complete_directories)")
                kind += "".join(f" -a '{each}'" for each in offered)
            about = f" -d '{quoted(option.about)}'" if option.about else ""
            print(f"complete -c hark -n '__fish_seen_subcommand_from {name}'{kind}{about}")
        if follow:
            next_word = " ".join(follow)
            place = f"__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from {next_word}"
            print(f"complete -c hark -n '{place}' -f -a '{next_word}'")
    print(f"complete -c hark -n '__fish_seen_subcommand_from ps' -f -a '({JOBS})'")


if __name__ == "__main__":
    {"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[3]](*read(sys.argv[1], sys.argv[2]))
