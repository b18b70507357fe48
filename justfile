# `just` alone lists what there is.
[private]
default:
    @just --list --unsorted

# what a fresh checkout needs
setup:
    uv sync --locked
    uv run tidings engines fetch

# what CI runs: two files at a time, each process with engines of its own
check: lint
    uv run pytest --numprocesses 2 --dist loadfile --durations 40 || just alone

# what failed last, once more with nothing beside it: a machine too busy passes here, a fault does not
alone:
    @echo "not passed beside others; alone they must pass, and are named below to be mended:"
    uv run pytest --last-failed --last-failed-no-failures none --verbose --maxfail 1

# style, types, who imports whom
lint:
    uv run ruff format --check .
    uv run ruff check .
    uv run mypy
    uv run lint-imports

# check the language of docs, docstrings, comments and messages: just prose [--count | --json | --rules] [PATH ...]
prose *args:
    uv run python -m tools.prose_check {{ args }}

# measure the server's code: just code-stats [--skip FOLDER]; a table, then one line of JSON
code-stats *args:
    uv run python -m tools.code_stats {{ args }}

# all tests, or those given: just test server/tests/unit
test *args:
    uv run pytest {{ args }}

# the models of append and delivery, every schedule and every mutant; --of, --trace NAME, --wide, --write
[working-directory: 'server/tests']
models *args:
    uv run python -m model {{ args }}

# the same code on simulated engines: just simulate --seeds 5000; --seed 7 --trace; --seeds 2000 --mutants --write
[working-directory: 'server/tests']
simulate *args:
    uv run python -m simulation {{ args }}

# measure: just bench NAME, a table for people, then one line of JSON; just bench all [--short] [--peers] makes the report
[env("PYTHONPATH", "server/tests")]
bench name *args:
    uv run --isolated --no-default-groups --group bench python -m bench.{{ name }} {{ args }}

# the storm over the append in full: many minutes, the report is its last line
[working-directory: 'server/tests']
storm *args:
    uv run python -m faults.storm.run {{ args }}

# every fault against a whole installation, every mutant server against the checker: just faults --short; NAME for one
[working-directory: 'server/tests']
faults *args:
    uv run python -m faults.whole.run {{ args }}

# many devices connect to one gateway at once: just storm-gateway --clients 5000
[working-directory: 'server/tests']
storm-gateway *args:
    uv run python -m load.storm_gateway {{ args }}

# one of two gateways dies under people who watch each other: just storm-presence --devices 2000
[working-directory: 'server/tests']
storm-presence *args:
    uv run python -m load.storm_presence {{ args }}

# what a process's lanes hold after many messages: just lane-memory --messages 1000000
[working-directory: 'server/tests']
lane-memory *args:
    uv run python -m load.append_queue_memory {{ args }}

# mutated frames: just fuzz frames --count 1000000; to a live gateway: just fuzz live --library websockets
[working-directory: 'server/tests']
fuzz name *args:
    uv run python -m fuzz.{{ name }} {{ args }}

# every operation of the API in many ways, on a real process: just schemathesis --examples 150
schemathesis *args:
    uv run pytest -q -s server/tests/e2e/test_schemathesis.py {{ args }}

# the inboxes against plain sets, many steps: just machine-notifications --steps 20000
[working-directory: 'server/tests']
machine-notifications *args:
    uv run python -m contract.inboxes {{ args }}

# format and mend what can be mended by itself
fix:
    uv run ruff format .
    uv run ruff check --fix .

# Autobahn's cases against the gateway's sockets: just autobahn [picows|websockets] [--short]
[working-directory: 'server/tests']
autobahn *args:
    uv run python -m contract.gateway.autobahn {{ args }}

# the README's picture: `tidings dev` and two people, in real pseudo-terminals
[working-directory: 'server/tests']
picture:
    uv run python -m e2e.picture
