"""`tidings-harness load`: find out how many messages a second an installation carries."""

import json
import uuid
from pathlib import Path

import click
import uvloop

from tidings_harness.load.ramp import RampOptions, RampResult, StepResult, open_pairs, ramp
from tidings_harness.load.report import load_figures, load_line, load_page
from tidings_harness.options import DurationParam, friendly_errors, installation_options, target_installation
from tidings_harness.workload.target import RestClient, TargetInstallation


@click.command(name="load")
@installation_options
@click.option("--api", required=True, help="URL of the REST API, http://…")
@click.option(
    "--limit-ms",
    type=click.FloatRange(min=1),
    default=250.0,
    show_default=True,
    help="Maximum p99 from send to delivery. The ramp ends when a step breaks it.",
)
@click.option(
    "--first-rate",
    type=click.FloatRange(min=1),
    default=20.0,
    show_default=True,
    help="Messages a second of the first step.",
)
@click.option(
    "--max-rate",
    type=click.FloatRange(min=1),
    default=100_000.0,
    show_default=True,
    help="End after a step of this rate.",
)
@click.option(
    "--factor",
    type=click.FloatRange(min=1.01),
    default=1.5,
    show_default=True,
    help="Each step has the rate of the last, multiplied by this.",
)
@click.option(
    "--step", "step_s", type=DurationParam(), default="10s", show_default=True, help="Duration of a step."
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Pairs of users with a direct chat. Rate limits are per user.",
)
def load(
    *,
    for_s: float,
    report: Path,
    api: str,
    sockets: tuple[str, ...],
    tenant: str,
    key: Path,
    limit_ms: float,
    first_rate: float,
    max_rate: float,
    factor: float,
    step_s: float,
    pairs: int,
) -> None:
    """Raise the rate of messages until the p99 of their delivery breaks a limit. Print one line of JSON.

    The folder of --report gets `verdict.json`, with all histograms, and `verdict.html`, with plots. The exit code is 1 if
    no step kept the limit, 2 if the installation could not be tested.
    """
    site = target_installation(api, sockets, tenant, key)
    options = RampOptions(
        limit_ms=limit_ms, first_rate=first_rate, factor=factor, step_s=step_s, for_s=for_s, max_rate=max_rate
    )
    result = uvloop.run(_run(site, report, pairs, options))
    figures = load_figures(result, options)
    (report / "verdict.json").write_text(json.dumps(figures, indent=2) + "\n")
    (report / "verdict.html").write_text(load_page(result, options))
    click.echo(load_line(figures))
    if figures["max_rate"] is None:
        raise click.exceptions.Exit(1)


async def _run(site: TargetInstallation, report: Path, count: int, options: RampOptions) -> RampResult:
    rest = RestClient(site)
    try:
        with friendly_errors(report):
            pairs = await open_pairs(site, rest, uuid.uuid4().hex[:8], count)
        try:
            return await ramp(pairs, options, _show)
        finally:
            for pair in pairs:
                pair.close()
    finally:
        await rest.close()


def _show(step: StepResult) -> None:
    click.echo(
        f"{step.rate:,.0f}/s: p99 {step.p99_ms:.1f} ms, {step.delivered:,} of {step.sent:,} delivered, "
        f"loader {step.loader_cpu:.0%} of a core",
        err=True,
    )
