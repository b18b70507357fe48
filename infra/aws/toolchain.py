"""OpenTofu and the AWS provider, built from their Go modules, for checks without a registry of providers.

The provider is the released one, reduced to the services that our modules use: all of them would take an hour to compile.
Sources come from the Go module proxy, and Go verifies their checksums. Nothing is installed: all files are in
`build/tofu`.
"""

import json
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.generated import ROOT

BUILD: Final = ROOT / "build" / "tofu"
TOFU_VERSION: Final = "v1.12.6"
PROVIDER_VERSION: Final = "6.47.1"
# The proxy knows no release of the provider after 1.60, because its module path has no major version. This is the commit.
_PROVIDER_MODULE: Final = "github.com/hashicorp/terraform-provider-aws@v1.60.1-0.20260602190131-5f2286d6d836"
_TOFU_MODULE: Final = f"github.com/opentofu/opentofu@{TOFU_VERSION}"
# The packages of the provider with our resources, and those that they import.
_SERVICES: Final = frozenset(
    {
        "appautoscaling",
        "backup",
        "cloudwatch",
        "dynamodb",
        "ec2",
        "eks",
        "elasticache",
        "iam",
        "kafka",
        "kms",
        "meta",
        "opensearch",
        "organizations",
        "s3",
        "s3control",
        "sns",
        "sts",
    }
)
_SERVICE_PACKAGES: Final = Path("internal/provider/sdkv2/service_packages_gen.go")
_CLIENTS: Final = Path("internal/conns/awsclient_gen.go")
_CONFIG: Final = """\
disable_checkpoint = true

provider_installation {{
  filesystem_mirror {{
    path = "{mirror}"
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """`config`: the file for TF_CLI_CONFIG_FILE, with which OpenTofu finds the provider that we built."""

    tofu: str
    config: Path


def find_toolchain() -> Toolchain | None:
    """Return what is already built. OpenTofu may be the one on the PATH."""
    found = _toolchain()
    return found if shutil.which(found.tofu) and found.config.exists() else None


def _toolchain() -> Toolchain:
    return Toolchain(shutil.which("tofu") or str(BUILD / "tofu"), BUILD / "tofu.rc")


def build_toolchain() -> Toolchain:
    """Build what is missing. Requires Go."""
    if shutil.which("tofu") is None and not (BUILD / "tofu").exists():
        _build(_TOFU_MODULE, "./cmd/tofu", BUILD / "tofu")
    if not (BUILD / "tofu.rc").exists():
        system = "_".join(_run("go", "env", "GOOS", "GOARCH").split())
        folder = BUILD / "mirror" / "registry.opentofu.org" / "hashicorp" / "aws" / PROVIDER_VERSION / system
        _build(_PROVIDER_MODULE, ".", folder / f"terraform-provider-aws_v{PROVIDER_VERSION}")
        (BUILD / "tofu.rc").write_text(_CONFIG.format(mirror=BUILD / "mirror"))
    return _toolchain()


def _build(module: str, package: str, target: Path) -> None:
    """Copy a module, because files in Go's cache cannot change, reduce the provider, and compile it."""
    print(f"building {module}; this takes minutes", flush=True)
    cached = Path(json.loads(_run("go", "mod", "download", "-json", module))["Dir"])
    source = BUILD / "source"
    shutil.rmtree(source, ignore_errors=True)
    ignored = shutil.ignore_patterns("*_test.go", "testdata", "website", "acctest")
    shutil.copytree(cached, source, ignore=ignored)
    for path in [source, *source.rglob("*")]:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    if module == _PROVIDER_MODULE:
        reduce_provider(source)
    _run("go", "build", "-ldflags", "-s -w", "-o", str(target), package, folder=source)
    shutil.rmtree(source)


def reduce_provider(source: Path) -> None:
    """Remove the services that our modules do not use from the lists of packages and clients, and their files."""
    for folder in (source / "internal" / "service").iterdir():
        if folder.is_dir() and folder.name not in _SERVICES:
            shutil.rmtree(folder)
    packages = source / _SERVICE_PACKAGES
    named = re.compile(r'.*/internal/service/(\w+)"|\t\t(\w+)\.ServicePackage\(ctx\),')
    kept = [
        line
        for line in packages.read_text().splitlines(keepends=True)
        if not (found := named.match(line)) or (found[1] or found[2]) in _SERVICES
    ]
    packages.write_text("".join(kept))
    used = {
        name
        for path in (source / "internal").rglob("*.go")
        for name in re.findall(r"\.(\w+Client)\(ctx", path.read_text())
    }
    clients = source / _CLIENTS
    clients.write_text(_without_clients(clients.read_text(), used))


def _without_clients(text: str, used: set[str]) -> str:
    """Remove the functions that return unused clients of AWS, and the imports that only they need."""
    function = re.compile(
        r"func \(c \*AWSClient\) (\w+)\(ctx context\.Context\)[^\n]*\{\n.*?\n\}\n\n?", re.DOTALL
    )
    text = function.sub(lambda found: found[0] if found[1] in used else "", text)
    imported = re.compile(r'\t(?:(\w+) )?"github\.com/aws/aws-sdk-go-v2/service/([\w/]+)"')

    def is_needed(line: str) -> bool:
        found = imported.match(line)
        return found is None or f"*{found[1] or found[2].rsplit('/')[-1]}.Client" in text

    return "".join(line for line in text.splitlines(keepends=True) if is_needed(line))


def _run(*command: str, folder: Path = ROOT) -> str:
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
