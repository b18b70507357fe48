"""`90s`, `15m`, `12h`, `7d` on the command line."""

import re
from typing import override

import click

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_FORM = re.compile(r"(\d{1,9})([smhd])")


class Duration(click.ParamType[int]):
    """Gives seconds."""

    name = "duration"

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        form = _FORM.fullmatch(str(value))
        if form is None:
            self.fail(f"{value!r} is not a duration like 90s, 15m, 12h or 7d", param, ctx)
        return int(form[1]) * _UNITS_S[form[2]]


DURATION = Duration()
