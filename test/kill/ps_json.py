#!/usr/bin/env python3
"""ps_json.py FILE [--pid PID] KEY...: what `hark ps --json` has printed of its only job, or of that of PID, on one line.

KEY is one of the job; RANK.KEY of a process; host.NAME.KEY of a host; has:KEY whether it is there; number:KEY, positive:KEY
whether it is a number of at least 0, above 0. The whole object must be as docs/json.md says."""
import json
import sys

JOB = {'job': str, 'pid': int, 'answers': bool}
ANSWERED = {**JOB, 'state': str, 'program': str, 'protocol': str, 'transport': str, 'store': (str, type(None)), 'ranks': int,
            'failures': int, 'recoveries': int, 'elapsed_ms': float, 'checkpoint_age_ms': (float, type(None)), 'hosts': list}
PROCESS = {'rank': (int, str), 'host': (str, type(None)), 'state': str, 'incarnation': int, 'restarts': int, 'deliveries': int,
           'messages': int, 'bytes': int, 'log_bytes': int, 'checkpoint': int, 'checkpoint_age_ms': (float, type(None))}
HOST = {'host': str, 'state': str, 'processes': int, 'heard_ms': (float, type(None))}


def check(what, keys, value):
    assert set(value) == set(keys), f'{what}: keys {sorted(value)}'
    for key, kind in keys.items():
        assert isinstance(value[key], kind), f'{what}: {key} is {value[key]!r}'


def check_all(whole):
    check('the object', {'schema': int, 'command': str, 'jobs': list}, whole)
    assert whole['schema'] == 1 and whole['command'] == 'ps'
    for job in whole['jobs']:
        processes = job.get('processes')
        check('a job', JOB if not job['answers'] else {**ANSWERED, **({'processes': list} if processes is not None else {})}, job)
        for host in job.get('hosts', []):
            check('a host', HOST, host)
        for process in processes or []:
            check('a process', PROCESS, process)
        assert processes is None or [p['rank'] for p in processes if p['rank'] != 'recovery'] == list(range(job['ranks']))


def find(job, key):
    name, _, rest = key.partition(':')
    if rest and name == 'has':
        return rest in job
    if rest:
        value = find(job, rest)
        return isinstance(value, (int, float)) and (value > 0 if name == 'positive' else value >= 0)
    parts = key.split('.')
    if len(parts) == 1:
        return job[key]
    if parts[0] == 'host':
        return next(h for h in job['hosts'] if h['host'] == parts[1])[parts[2]]
    return next(p for p in job['processes'] if str(p['rank']) == parts[0])[parts[1]]


def main():
    arguments = sys.argv[2:]
    with open(sys.argv[1], encoding='utf-8') as f:
        whole = json.load(f)
    check_all(whole)
    jobs = whole['jobs']
    if arguments[0] == '--pid':
        jobs = [j for j in jobs if j['pid'] == int(arguments[1])]
        arguments = arguments[2:]
    assert len(jobs) == 1, f'{len(jobs)} jobs'
    print(*(find(jobs[0], key) for key in arguments))


main()
