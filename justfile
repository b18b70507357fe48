# List the recipes: just
[private]
default:
    @just --list --unsorted

# Install the dependencies, download the engines and build the demo page: just setup
setup:
    uv sync --locked
    uv run python -m tools.web pages & uv run tidings engines fetch && wait $!

# Run the fast gate, or all suites as CI does: just check --full
check gate="":
    uv run python -m tools.gate run {{ if gate == "--full" { "full" } else { "fast" } }}

# Run everything in full, for hours, and write docs/benchmarks/nightly.md. Continues after an interruption: just nightly --only storm; --since COMMIT; --minutes 60
nightly *args:
    uv run python -m tools.gate nightly {{ args }}

# Run the full gate, measure the CPU time of all processes and write it to docs/contributing/tests.md: just gate-cost after
gate-cost name:
    uv run python -m tools.gate run full --record {{ name }}

# Make mistakes in the product, one after the other, and check that tests of the full gate find them: just gate-mutants NAME
gate-mutants *names:
    uv run python -m tools.gate mutants {{ names }}

# Install, check, test or build the packages for the web: just web check; test; build; pages; browser; history; lighthouse; pack --try; gen; reference; fix
web step *args:
    uv run python -m tools.web {{ step }} {{ args }}

# Run the tests that failed last, one after the other: just alone -k gateway
alone *args:
    @echo "These tests failed while others ran in parallel. A test that passes now depends on timing: fix it."
    uv run pytest --last-failed --last-failed-no-failures none --verbose --maxfail 1 {{ args }}

# Run the tests that only the nightly run contains: just long-tests -k mutant
long-tests *args:
    uv run pytest --long -m long --numprocesses 2 --dist load --durations 0 {{ args }}

# Check style, types, import rules and language: just lint
lint:
    uv run ruff format --check .
    uv run ruff check .
    uv run mypy
    uv run lint-imports
    uv run python -m tools.prose_check

# Check the language of docs, docstrings, comments and messages: just prose docs/howto; --count; --json; --rules
prose *args:
    uv run python -m tools.prose_check {{ args }}

# Measure the server's code and print a table and one line of JSON: just code-stats --skip FOLDER
code-stats *args:
    uv run python -m tools.code_stats {{ args }}

# Run all tests, or the given ones: just test server/tests/unit
test *args:
    uv run pytest {{ args }}

# Explore every schedule of the models of append and delivery, and their mutants: just models --trace append.NO_CONDITION; --of delivery; --wide; --write
[working-directory: 'server/tests']
models *args:
    uv run python -m model {{ args }}

# Run the server's code on simulated engines: just simulate --seeds 5000; --seed 7 --trace; --seeds 2000 --mutants --write
[working-directory: 'server/tests']
simulate *args:
    uv run python -m simulation {{ args }}

# Run a benchmark and print a table and one line of JSON: just bench append; write the report: just bench all --short --peers
[env("PYTHONPATH", "server/tests")]
bench name *args:
    uv run --isolated --no-default-groups --group bench python -m bench.{{ replace(name, "-", "_") }} {{ args }}

# Inject every fault into an installation and run the checker on every mutant server: just faults --short; just faults kills
[working-directory: 'server/tests']
faults *args:
    uv run python -m faults.whole.run {{ args }}

# Upgrade an installation between two commits and back under load, as docs/howto/upgrade.md says: just upgrade-test v0.1.0rc1 HEAD --short; --mutant writes_another_format; --write
[working-directory: 'server/tests']
upgrade-test *args:
    uv run python -m faults.whole.upgrade {{ args }}

# Restore and fail over under load, and record loss and time for `just release-check`: just drills; just drills --short
drills *args:
    just faults restore tables failover --mutants without --deliveries 150000 --record docs/benchmarks/drills.json {{ args }}

# Connect many devices to one gateway at the same time: just storm-gateway --clients 5000
[working-directory: 'server/tests']
storm-gateway *args:
    uv run python -m load.storm_gateway {{ args }}

# Kill one of two gateways whose users watch each other's presence: just storm-presence --devices 2000
[working-directory: 'server/tests']
storm-presence *args:
    uv run python -m load.storm_presence {{ args }}

# Send a million webhook events through killed workers to slow, failing and interrupted endpoints: just storm-webhooks --events 20000
[working-directory: 'server/tests']
storm-webhooks *args:
    uv run python -m load.webhooks {{ args }}

# Notify offline users of 200,000 messages while workers are killed and users read: just storm-push --events 20000 --groups 20
[working-directory: 'server/tests']
storm-push *args:
    uv run python -m load.push {{ args }}

# Upload and delete 50,000 files while processes are killed at every step, then sweep and compare table and bucket: just storm-media --uploads 1000
[working-directory: 'server/tests']
storm-media *args:
    uv run python -m load.media {{ args }}

# Erase a user with secrets in every store, then search every stored byte, also with all remaining keys: just erasure-search --secrets 100
[working-directory: 'server/tests']
erasure-search *args:
    uv run python -m load.erasure {{ args }}

# Send a file of 2 GB and six decompression bombs, and measure the memory of client, API and worker: just large-files --mb 200
[working-directory: 'server/tests']
large-files *args:
    uv run python -m load.large_files {{ args }}

# Measure the memory of a process's append queues after many messages: just append-queue-memory --messages 1000000
[working-directory: 'server/tests']
append-queue-memory *args:
    uv run python -m load.append_queue_memory {{ args }}

# Send mutated frames to the codec: just fuzz frames --count 1000000; to a running gateway: just fuzz live --library websockets
[env("PYTHONPATH", "../..")]
[working-directory: 'server/tests']
fuzz name *args:
    uv run python -m fuzz.{{ name }} {{ args }}

# Test every operation of the REST API with generated requests: just schemathesis --examples 150
schemathesis *args:
    uv run pytest -q -s server/tests/e2e/test_schemathesis.py {{ args }}

# Compare the inboxes with a model of plain sets over many random steps: just machine-notifications --steps 20000
[working-directory: 'server/tests']
machine-notifications *args:
    uv run python -m contract.inboxes {{ args }}

# Generate the reference pages and build the documentation site: just docs; just docs check; just docs diagrams
docs step="build" *args:
    uv run python -m tools.reference_pages
    uv run python -m tools.docs_site {{ step }} {{ args }}

# Write or check the published files of the protocol: just protocol write; just protocol check; just protocol openapi --write protocol/openapi.json
protocol *args:
    uv run python -m tools.protocol {{ args }}

# Write the dashboards of Grafana and the alerts of Prometheus: just infra-write
infra-write:
    uv run python -m infra write

# Check dashboards, alerts, runbooks, chart and units, and print one line of JSON: just infra-check --short
infra-check *args:
    uv run python -m infra check {{ args }}

# Plan the OpenTofu modules and those of the guides with the AWS provider. Builds OpenTofu and the provider once; needs Go: just tofu-plan; --names
tofu-plan *args:
    uv run python -m infra.aws.plans {{ args }}

# Check policies, modules, upgrade and artefacts of a version, and print one line of JSON: just release-check --short
release-check *args:
    uv run python -m tools.release_check {{ args }}

# Find which calls to AWS each process makes, and write the policies: just infra-derive
infra-derive:
    uv run python -m infra derive
    uv run python -m infra write

# Run tests while their processes record their calls to AWS, and add these to the recording: just record-calls server/tests/e2e/push
record-calls +tests:
    mkdir -p build/calls
    TIDINGS_FAILPOINTS_RECORD_CALLS={{ justfile_directory() }}/build/calls uv run pytest -q {{ tests }}
    uv run python -m infra record --folder build/calls

# Write the files of the image, build it, or build it twice and start all processes in it: just image context; context --archive; build; start; check
image step *args:
    uv run --group image python -m infra.image {{ step }} {{ args }}

# Plot the panels of the dashboards over the recorded fault run: just infra-plot
infra-plot:
    uv run python -m infra plot

# Record the metrics of an installation under faults, and run the runbooks' commands: just infra-record
[env("PYTHONPATH", "../..")]
[working-directory: 'server/tests']
infra-record:
    uv run python -m faults.metrics_recording ../../infra/recording.json.xz

# Format the code and apply automatic fixes: just fix
fix:
    uv run ruff format .
    uv run ruff check --fix .

# Run Autobahn's test cases against the gateway's sockets: just autobahn picows --short
[working-directory: 'server/tests']
autobahn *args:
    uv run python -m contract.gateway.autobahn {{ args }}

# Record the README's picture, `tidings dev` and two users in pseudo-terminals: just picture
[working-directory: 'server/tests']
picture:
    uv run python -m e2e.picture

# Build all artefacts of a release into `dist`, without publishing: just release 0.1.0; prepare 0.1.0; try; check
release *args:
    uv run python -m tools.release {{ args }}
