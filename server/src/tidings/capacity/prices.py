"""AWS's public list prices, us-east-1, on demand, in US dollars. DynamoDB's are in `schema/tables/pricing.py`.

Free tiers, savings plans, reserved instances, taxes, load balancers and traffic between zones are not included.

Compared on 2026-11-19 with stored copies of what others read from the price lists; the price lists themselves were not
available. The storage and requests of S3 and the storage of gp3: expected outputs of Infracost, which calls the price
API. Traffic: a guide of 2026 for its prices, and two programs for the sizes of its steps. The machine: three tables of
others, one of which says that it is not verified.
"""

from decimal import Decimal

SINCE = "2026-06"
"""When these prices were checked."""

CORE_HOUR = Decimal("0.0408")
"""A vCPU of an m7g instance, with 4 GB of memory: m7g.large has two for $0.0816."""
CORE_GB = 4
DISK_GB_MONTH = Decimal("0.08")
"""gp3, without additional throughput."""
OBJECT_GB_MONTH = Decimal("0.023")
MILLION_PUTS = Decimal("5.00")
MILLION_GETS = Decimal("0.40")
TRANSFER_OUT: tuple[tuple[int, Decimal], ...] = (
    (10_240, Decimal("0.09")),
    (40_960, Decimal("0.085")),
    (102_400, Decimal("0.07")),
)
"""GB of a month at each price, to the internet. AWS counts 1,024 GB as a TB."""
TRANSFER_OUT_REST = Decimal("0.05")


def transfer_out(gb: float) -> Decimal:
    """Return the price of a month's traffic to the internet."""
    rest, total = Decimal(gb), Decimal(0)
    for size, price in TRANSFER_OUT:
        part = min(rest, Decimal(size))
        total += part * price
        rest -= part
    return total + rest * TRANSFER_OUT_REST
