"""`tidings job list | show | watch | pause | resume | cancel`."""

import asyncio
from collections.abc import Awaitable, Callable

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tidings.cli.inbox import open_inbox_services
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.jobs.model import JobId, JobKind, JobProgress, JobState
from tidings.jobs.service import JobService
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

_STARTED = {False: "the broadcast has not started", True: "the broadcast has started"}
_OVER = frozenset({JobState.DONE, JobState.CANCELLED})


@click.group(name="job")
def group() -> None:
    """Jobs of sends, recalls and added members: show progress, pause, resume, cancel."""


@group.command(name="list")
@click.argument("tenant")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 200))
def list_(tenant: str, limit: int) -> None:
    """List the jobs of TENANT, newest first."""
    page = _run(lambda track: track.listed(TenantId(tenant), limit))
    table = SafeTable("job", "kind", "inbox or chat", "state", "done", "failed", "created")
    for each in page.jobs:
        job = each.job
        done = f"{each.done} of {job.total}"
        created = format_ms(job.created_ms)
        table.add_row(job.id, job.kind, job.chat or job.inbox, each.state, done, str(each.failed), created)
    SafeConsole().print(table)


@group.command()
@click.argument("tenant")
@click.argument("job")
def show(tenant: str, job: str) -> None:
    """Show the progress of JOB."""
    echo(job_line(_run(lambda track: track.progress(TenantId(tenant), JobId(job)))))


@group.command()
@click.argument("tenant")
@click.argument("job")
@click.option("--every-s", default=0.5, show_default=True, help="Seconds between updates.")
def watch(tenant: str, job: str, every_s: float) -> None:
    """Show the progress of JOB until it ends. Fails if it was cancelled."""
    state = asyncio.run(_watch(TenantId(tenant), JobId(job), every_s))
    if state is JobState.CANCELLED:
        raise TidingsError(Code.NO_CHANGE, "The job was cancelled.")


@group.command()
@click.argument("tenant")
@click.argument("job")
def pause(tenant: str, job: str) -> None:
    """Pause JOB. Chunks in progress are finished."""
    echo(job_line(_run(lambda track: track.pause(TenantId(tenant), JobId(job)))))


@group.command()
@click.argument("tenant")
@click.argument("job")
def resume(tenant: str, job: str) -> None:
    """Resume JOB."""
    echo(job_line(_run(lambda track: track.resume(TenantId(tenant), JobId(job)))))


@group.command()
@click.argument("tenant")
@click.argument("job")
def cancel(tenant: str, job: str) -> None:
    """Cancel JOB permanently. Finished chunks are not undone."""
    echo(job_line(_run(lambda track: track.cancel(TenantId(tenant), JobId(job)))))


async def _watch(tenant: TenantId, job: JobId, every_s: float) -> JobState:
    bar = Progress(
        TextColumn("{task.fields[state]:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}"),
        console=SafeConsole(),
    )
    async with open_inbox_services() as cases:
        at = await cases.jobs.progress(tenant, job)  # a job that does not exist is reported without a bar
        with bar:
            task = bar.add_task("", total=at.job.total, state="", text="")
            while True:
                done = at.done + at.failed
                bar.update(task, total=at.job.total, completed=done, state=at.state.value, text=_job_text(at))
                if at.state in _OVER:
                    break
                await asyncio.sleep(every_s)
                at = await cases.jobs.progress(tenant, job)
    echo(job_line(at))
    return at.state


def job_line(at: JobProgress) -> str:
    if at.job.kind is JobKind.BROADCAST:  # one step for all users: there is no rate
        return f"{at.state}: {_STARTED[bool(at.done)]}"
    return f"{at.state}: {at.done} of {at.job.total} users done, {at.failed} failed; {_job_text(at)}"


def _job_text(at: JobProgress) -> str:
    left = "" if at.remaining_s is None or at.state in _OVER else f", {at.remaining_s:.0f} s left"
    return f"{at.rate_per_s:.0f} a second{left}"


def _run[T](act: Callable[[JobService], Awaitable[T]]) -> T:
    async def acted() -> T:
        async with open_inbox_services() as cases:
            return await act(cases.jobs)

    return asyncio.run(acted())
