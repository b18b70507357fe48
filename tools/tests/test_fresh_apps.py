import json
import shutil
from pathlib import Path

import pytest

from tools.fresh_apps import include_base_config
from tools.node import ROOT


@pytest.mark.parametrize("name", ["react-chat", "next-app"])
def test_the_compiler_options_of_a_fresh_app_name_no_file_outside_of_it(name: str, tmp_path: Path) -> None:
    config = tmp_path / "tsconfig.json"
    example = ROOT / "examples" / name / "tsconfig.json"
    shutil.copy(example, config)
    include_base_config(config)
    included = json.loads(config.read_text())
    assert "extends" not in included
    assert included["compilerOptions"]["strict"] is True
    assert included["compilerOptions"]["types"] == json.loads(example.read_text())["compilerOptions"]["types"]
