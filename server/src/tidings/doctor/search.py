"""Check search: whether the index exists, and on which volume its operator must think of encryption."""

from collections.abc import Iterator

from tidings.app.settings import Settings
from tidings.app.settings.workers import SearchSettings
from tidings.app.wiring.search import search_engine
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped


def check_search(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    try:
        engine = search_engine(settings)
    except ValueError as error:
        yield Finding(
            "search",
            CheckState.WRONG,
            str(error),
            "`tidings run search` and `tidings run api` do not start.",
            "",
        )
        return
    if engine == "none":
        yield skipped("search", "needs search.engine")
        return
    yield _opensearch(settings.search) if engine == "opensearch" else _directory(settings)


def _opensearch(wanted: SearchSettings) -> Finding:
    return Finding(
        "search",
        CheckState.WARNING,
        f"the index at {wanted.url} has words of encrypted messages",
        "It is as safe as the volumes and users of OpenSearch, which Tidings cannot see.",
        "Encrypt its volumes, and let only Tidings read the index.",
    )


def _directory(settings: Settings) -> Finding:
    directory = settings.search.directory.absolute()
    if not directory.is_dir():
        return Finding(
            "search",
            CheckState.WARNING,
            f"there is no index in {directory}",
            "Searches fail until `tidings run search` has run on this machine.",
            "Start it, then run `tidings search rebuild TENANT` for each tenant with search.",
        )
    if settings.installation == "production":
        return Finding(
            "search",
            CheckState.WARNING,
            f"the index in {directory} has words of encrypted messages",
            "It is as safe as its volume. Tidings cannot see whether that is encrypted.",
            "Encrypt the volume (EBS or LUKS), and leave the directory out of backups.",
        )
    return ok("search", f"the index is in {directory}")
