# `just` alone lists what there is.
[private]
default:
    @just --list --unsorted

# what a fresh checkout needs
setup:
    uv sync --locked
    uv run tidings engines fetch

# the fast gate, or every suite as in CI: just check [--full]
check gate="": lint
    uv run pytest --numprocesses 2 --dist loadfile --durations 40 {{ if gate == "--full" { "--dynamo adapters" } else { "--fast" } }} || just alone
    {{ if gate == "--full" { "just faults --short" } else { "" } }}
    {{ if gate == "--full" { "just autobahn --short" } else { "" } }}

# run the tests that failed last, one after the other
alone:
    @echo "These tests failed beside others. A test that passes now depends on timing: fix it."
    uv run pytest --last-failed --last-failed-no-failures none --verbose --maxfail 1

# check style, types, import rules and language
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
[env("PYTHONPATH", "../..")]
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

# write the pages of docs/reference that are generated from the code
docs:
    uv run python -m tools.reference_pages

# the published files of the protocol: just protocol write | check | openapi --write protocol/openapi.json
protocol *args:
    uv run python -m tools.protocol {{ args }}

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
