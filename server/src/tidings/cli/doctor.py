"""`tidings doctor`: finds what is wrong, says why it matters and what to do. Changes nothing."""

import click

from tidings.cli.output import SafeConsole, echo_json

_WRONG = 1


@click.command(name="doctor")
@click.option("--admin", multiple=True, metavar="HOST:PORT", help="Look at a process too; may be repeated.")
@click.option("--strict", is_flag=True, help="Warnings end with 1 as well.")
@click.option("--json", "is_json", is_flag=True, help="The findings for programs, on stdout.")
def group(*, admin: tuple[str, ...], strict: bool, is_json: bool) -> None:
    """Look at everything an installation stands on, and say what to do. Changes nothing.

    Ends with 1 if something is wrong; warnings alone end with 0, unless --strict.
    """
    from tidings.doctor.checks import run_checks  # noqa: PLC0415 - a second that `--help` need not wait
    from tidings.doctor.model import CheckState, Finding, format_finding, summarize_findings  # noqa: PLC0415 - as above  # noqa: PLC0415 - as above

    findings: list[Finding] = []
    console = SafeConsole(soft_wrap=True, stderr=is_json)
    with console.status("looking …") as status:
        for finding in run_checks(admin, lambda what: status.update(f"looking at {what} …")):
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
