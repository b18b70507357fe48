"""`tidings config`, `tidings doctor` and `tidings explain`: find out what is wrong. They change nothing."""

import click

from tidings.app.settings.loader import FIELDS, load, rows
from tidings.cli.output import SafeConsole, SafeTable, echo, echo_json
from tidings.kernel.errors import Code

_WRONG = 1


@click.group()
def config() -> None:
    """Check and show the settings."""


@config.command()
def check() -> None:
    """Read all settings, and fail with a list of all errors."""
    loaded = load()
    echo(f"ok: {len(loaded.sources)} of {len(FIELDS)} settings given, the rest are defaults")


@config.command()
def show() -> None:
    """Print each setting with its value and its source. Secrets stay hidden."""
    table = SafeTable("setting", "value", "from")
    for name, value, source in rows(load()):
        table.add_row(name, value, source, style="dim" if source == "default" else None)
    SafeConsole().print(table)


@click.command()
@click.option("--admin", multiple=True, metavar="HOST:PORT", help="Also check this process; may be repeated.")
@click.option(
    "--tls", multiple=True, metavar="HOST:PORT", help="Also check this certificate; may be repeated."
)
@click.option("--prometheus", metavar="URL", help="Check that this Prometheus has the alerts and scrapes.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
def doctor(
    *, admin: tuple[str, ...], tls: tuple[str, ...], prometheus: str | None, strict: bool, is_json: bool
) -> None:
    """Check everything that an installation depends on, and report what to do. Changes nothing.

    The exit code is 1 if something is wrong; warnings alone give 0, unless --strict.
    """
    from tidings.doctor.checks import run_checks  # noqa: PLC0415 - a second that `--help` need not wait
    from tidings.doctor.model import CheckState, Finding, format_finding, summarize_findings  # noqa: PLC0415 - as above

    findings: list[Finding] = []
    console = SafeConsole(soft_wrap=True, stderr=is_json)
    with console.status("looking …") as status:
        report = lambda what: status.update(f"checking {what} …")  # noqa: E731 - one line says it
        for finding in run_checks(admin, report, tls=tls, prometheus=prometheus):
            findings.append(finding)
            if not is_json:
                console.print(format_finding(finding))
    if is_json:
        echo_json({"findings": findings})
    else:
        console.print(summarize_findings(findings))
    bad = {CheckState.WRONG, CheckState.WARNING} if strict else {CheckState.WRONG}
    if any(finding.state in bad for finding in findings):
        raise click.exceptions.Exit(_WRONG)


@click.command()
@click.argument("code", type=click.Choice([code.value for code in Code]), metavar="CODE")
def explain(code: str) -> None:
    """Explain an error code, such as settings_invalid."""
    from tidings.api.openapi import explain_error_code  # noqa: PLC0415 - a second that `--help` need not wait

    echo(explain_error_code(Code(code)))
