"""Parse e-mail addresses. One rule for everything that stores an address or writes to one."""

import re
from typing import Final, NamedTuple

EMAIL_BYTES: Final = 254
"""RFC 5321 section 4.5.3.1.3, without the angle brackets."""
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
EMAIL_PATTERN: Final = rf"^[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*$"
_EMAIL = re.compile(EMAIL_PATTERN)


class MailAddress(NamedTuple):
    local: str
    domain: str

    @property
    def spec(self) -> str:
        """The address as headers and SMTP commands write it.

        RFC 5322 allows dots at the ends of a local part, and two in a row, in quotes only. Some providers have issued
        such addresses.
        """
        local = self.local if all(self.local.split(".")) else f'"{self.local}"'
        return f"{local}@{self.domain}"


def parse_mail_address(text: str) -> MailAddress:
    """Parse `name@example.com`, in ASCII. Raises `ValueError` for other texts."""
    if len(text) > EMAIL_BYTES or _EMAIL.fullmatch(text) is None:
        raise ValueError(f"{text[:EMAIL_BYTES]!r} has not the form `name@example.com`, in ASCII")
    local, _, domain = text.rpartition("@")
    return MailAddress(local, domain)
