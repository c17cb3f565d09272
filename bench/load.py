"""What else a machine did during a run: the share of its processors that other work used, and that the host took (steal).

A look at the machine is a file that `look` of common.sh writes: /proc/loadavg, the lines of processors of /proc/stat, which of them this
process may use, and the output of the shell's `times`. Between two looks, the ticks of those processors that were busy,
without what the shell and its children used, are other work. A child that nobody waits for counts as other work too.
"""
import os, re

TICKS = os.sysconf("SC_CLK_TCK")
AGAIN = "run it again when nothing else runs, or permit more with --limit (make bench LIMIT=)"


class Unknown(Exception):
    """A look that does not say what is needed."""


def allowed(words):
    """Processors of a list such as 0-3,8."""
    found = set()
    for part in words.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Look:
    def __init__(self, text):
        try:
            self.load = float(text.split()[0])
            mine = allowed(re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.M).group(1))
            self.busy = self.stolen = self.total = self.processors = 0
            for number, words in re.findall(r"^cpu(\d+) (.*)", text, re.M):
                if int(number) not in mine: continue
                user, nice, system, idle, waiting, interrupts, soft, stolen = map(int, words.split()[:8])
                self.busy += user + nice + system + interrupts + soft
                self.stolen += stolen
                self.total += user + nice + system + idle + waiting + interrupts + soft + stolen
                self.processors += 1
            times = re.findall(r"(\d+)m([\d.]+)s", text)
            if len(times) != 4 or self.processors == 0: raise Unknown
            self.own = sum(60 * int(minutes) + float(seconds) for minutes, seconds in times) * TICKS
        except (AttributeError, IndexError, ValueError, Unknown):
            raise Unknown("/proc does not say how busy the processors were") from None


class Judgement:
    """Whether a run between two looks is good: other work and steal together took at most `limit` per cent."""

    def __init__(self, before, after, limit):
        self.limit, self.why = limit, None
        self.others = self.stolen = self.own = None
        try:
            before, after = Look(before), Look(after)
            total = after.total - before.total
            if total <= 0: raise Unknown("the counts of /proc/stat did not change")
            own = after.own - before.own
            self.others = max(0.0, 100 * (after.busy - before.busy - own) / total)
            self.stolen = 100 * (after.stolen - before.stolen) / total
            self.own = 100 * own / total
            self.loads, self.processors = (before.load, after.load), after.processors
        except Unknown as unknown: self.why = str(unknown)
        self.good = self.why is None and self.others + self.stolen <= limit

    def seen(self):
        if self.why: return f"load unknown: {self.why}"
        return (f"load {self.loads[0]:.2f} before and {self.loads[1]:.2f} after; of {self.processors} processors other work used {self.others:.0f} %, "
                f"this run {self.own:.0f} %, and the host took {self.stolen:.0f} % (steal)")

    def verdict(self):
        """The last line of a report."""
        if self.why: return f"not good: {self.why}, so nobody knows what disturbed the times; only instructions can be compared"
        took = f"other work used {self.others:.0f} % of the processors (limit {self.limit} %)"
        if self.stolen >= 0.5: took = f"other work used {self.others:.0f} % of the processors, and the host took {self.stolen:.0f} % (limit of both {self.limit} %)"
        return f"good: {took}" if self.good else f"not good: {took}; only instructions can be compared: {AGAIN}"

    def figures(self):
        return {"good": self.good, "others_percent": self.others, "stolen_percent": self.stolen, "limit_percent": self.limit}
