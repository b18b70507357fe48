"""Create the picture of the README (`just picture`): the quick start in three pseudo-terminals, drawn as SVG."""

import os
import tempfile
from pathlib import Path

from e2e.load_figure import drawn, page, size_of
from e2e.screen import ScreenTerminal
from fixtures.fork_server import TIDINGS

ROOT = Path(__file__).parents[3]
PICTURE = ROOT / "docs/pictures/first-minute.svg"
_GAP = 10.0


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        opened: list[ScreenTerminal] = []
        try:
            _play(Path(directory), opened)
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_text(_drawn(*opened))
        finally:
            if opened:
                opened[0].ctrl_c()
            for terminal in opened:
                terminal.exit_code() if terminal is opened[0] else terminal.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KB")


def _play(directory: Path, opened: list[ScreenTerminal]) -> None:
    ours = {
        name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "NO_COLOR"))
    }
    dev = ScreenTerminal([*TIDINGS, "dev"], directory, ours, (136, 9))
    opened.append(dev)
    dev.sees("  stop     Ctrl-C")
    anna, ben = (
        ScreenTerminal([*TIDINGS, "chat", "--as", user], directory, ours, (66, 20))
        for user in ("anna", "ben")
    )
    opened += [anna, ben]
    anna.sees("● live", "ben   ● online")
    ben.sees("● live", "anna   ● online")
    anna.types("Noon, at the usual place?", "enter")
    ben.sees("usual place\\?")
    ben.types("", "ctrl-r", "enter")
    anna.sees("👍", "✓✓ read")
    ben.types("Noon it is. I am on my way", "enter")
    anna.sees("on my way")
    ben.types("", "up")
    ben.sees("│ Noon it is")
    ben.types("!", "enter")
    anna.sees(r"\(edited\)")
    anna.types("See you there", "enter")
    ben.sees("See you there")
    ben.types("Shall I bring")
    anna.sees("See you there  ✓✓ read", "ben is typing")


def _drawn(dev: ScreenTerminal, anna: ScreenTerminal, ben: ScreenTerminal) -> str:
    for each in (dev, anna, ben):
        each.shown  # noqa: B018 - reads the available output
    width, dev_height = size_of(dev.screen)
    half, chat_height = size_of(anna.screen)
    parts = [*drawn(dev.screen, "tidings dev", 0, 0)]
    parts += drawn(anna.screen, "tidings chat --as anna", 0, dev_height + _GAP)
    parts += drawn(ben.screen, "tidings chat --as ben", width - half, dev_height + _GAP)
    return page(width, dev_height + _GAP + chat_height, parts)


if __name__ == "__main__":
    main()
