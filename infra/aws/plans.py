"""Plans of the OpenTofu modules with the released AWS provider: `just tofu-plan`. With `--names`, write `provider.json`.

A plan finds wrong references, types, expressions, cycles and missing values, and what the provider refuses: its validation of
values and of their combinations runs as for a user. It does not find what only AWS refuses, because no request is made.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.aws.provider import TOFU, modules, write_names
from infra.aws.toolchain import PROVIDER_VERSION, Toolchain, build_toolchain
from infra.generated import ROOT

PAGES: Final = ("deploy-on-aws", "run-in-production", "send-attachments")
# The pages leave these to their readers.
_PROVIDER: Final = """\
provider "aws" {{
  {alias}
  region                      = "{region}"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}}
"""
_SURROUNDINGS: Final = f"""\
{_PROVIDER.format(alias="", region="us-east-1")}
{_PROVIDER.format(alias='alias = "standby"', region="eu-west-1")}
variable "redis_password" {{
  type    = string
  default = "0123456789-abcdefghijk"
}}

resource "aws_sns_topic" "on_call" {{
  name = "on-call"
}}
"""
_PAGE_TEST: Final = """\
run "plan" {
  command = plan
}
"""
_ACCOUNT: Final = """\
override_data {{
  target = module.{module}.data.aws_caller_identity.current
  values = {{ account_id = "123456789012" }}
}}
"""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """`runs`: plans whose assertions hold. `fault`: what OpenTofu printed if one does not."""

    name: str
    runs: int
    fault: str = ""


def plan_all(toolchain: Toolchain) -> Iterator[PlanResult]:
    """Check the format of all files, then plan each module and the modules of each page."""
    done = _tofu(toolchain, TOFU, "fmt", "-check", "-recursive", "-diff")
    yield PlanResult("format", 0, done.stdout + done.stderr if done.returncode else "")
    with copied_modules() as folder:
        for module in modules(folder / "infra" / "tofu"):
            yield plan_module(toolchain, module)
        for page in PAGES:
            yield plan_module(toolchain, write_page(folder, page))


def plan_module(toolchain: Toolchain, module: Path) -> PlanResult:
    """Initialize a module without a registry, validate it, and run the plans of its test file."""
    done = _tofu(toolchain, module, "init", "-backend=false", "-input=false", "-no-color")
    if done.returncode == 0:
        done = _tofu(toolchain, module, "validate", "-no-color")
    if done.returncode == 0:
        done = _tofu(toolchain, module, "test", "-no-color")
    passed = re.search(r"(\d+) passed", done.stdout)
    runs = int(passed[1]) if passed else 0
    return PlanResult(module.name, runs, "" if done.returncode == 0 and runs else done.stdout + done.stderr)


def write_page(folder: Path, page: str) -> Path:
    """Write the root module that a page prints, next to the folder `infra` that it refers to."""
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text()
    module = folder / page
    module.mkdir()
    printed = "\n".join(re.findall(r"```hcl\n(.*?)```", text, re.DOTALL))
    (module / "main.tf").write_text(printed.replace('"./infra/', '"../infra/'))
    (module / "surroundings.tf").write_text(_SURROUNDINGS)
    accounts = [_ACCOUNT.format(module=name) for name in re.findall(r'module "(\w*iam)"', printed)]
    (module / "page.tftest.hcl").write_text("".join(accounts) + _PAGE_TEST)
    return module


def read_schema(toolchain: Toolchain) -> dict[str, Any]:
    """Return the schema of the provider: the blocks of all its resources and data sources."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.tf").write_text(_SURROUNDINGS)
        _tofu(toolchain, folder, "init", "-backend=false", "-no-color").check_returncode()
        done = _tofu(toolchain, folder, "providers", "schema", "-json")
        done.check_returncode()
    found: dict[str, Any] = json.loads(done.stdout)["provider_schemas"]
    return dict(found.popitem()[1])


@contextmanager
def copied_modules() -> Iterator[Path]:
    """Copy the modules, because OpenTofu writes into the folders that it plans."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(TOFU, Path(name) / "infra" / "tofu")
        yield Path(name)


def _tofu(toolchain: Toolchain, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CLI_CONFIG_FILE": str(toolchain.config), "CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        [toolchain.tofu, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def main() -> int:
    """Build the tools if necessary, plan everything, and print the plans of each module and page."""
    toolchain = build_toolchain()
    if "--names" in sys.argv[1:]:
        write_names(read_schema(toolchain), PROVIDER_VERSION)
        return 0
    results = []
    for each in plan_all(toolchain):
        print(f"{each.name}: {each.fault or f'{each.runs} plans'}", flush=True)
        results.append(each)
    faults = sum(1 for each in results if each.fault)
    print(json.dumps({"tofu_plans": sum(each.runs for each in results), "tofu_faults": faults}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
