"""`tidings doctor`: report problems, why they matter and what to do. Changes nothing."""

import click

from tidings.cli.output import SafeConsole, echo_json

_WRONG = 1


@click.command(name="doctor")
@click.option("--admin", multiple=True, metavar="HOST:PORT", help="Also check this process; may be repeated.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
def group(*, admin: tuple[str, ...], strict: bool, is_json: bool) -> None:
    """Check everything that an installation depends on, and report what to do. Changes nothing.

    The exit code is 1 if something is wrong; warnings alone give 0, unless --strict.
    """
    from tidings.doctor.checks import run_checks  # noqa: PLC0415 - a second that `--help` need not wait
    from tidings.doctor.model import CheckState, Finding, format_finding, summarize_findings  # noqa: PLC0415 - as above

    findings: list[Finding] = []
    console = SafeConsole(soft_wrap=True, stderr=is_json)
    with console.status("looking …") as status:
        for finding in run_checks(admin, lambda what: status.update(f"checking {what} …")):
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
