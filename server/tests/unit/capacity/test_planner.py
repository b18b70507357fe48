"""The capacity plan, from small workloads that can be checked by hand to the planned installation."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidings.app.settings.gateway import GatewaySettings
from tidings.capacity import fleet, limits, measured, rules
from tidings.capacity.model import DAY_S, SCENARIOS, CapacityPlan, Workload
from tidings.capacity.planner import make_plan
from tidings.chats.model import MAX_SMALL_MEMBERS
from tidings.cli import tidings
from tidings.delivery import offline_checker
from tidings.schema.tables import pricing
from tidings.schema.tables.model import TableClass
from tidings.tenants.model import MAX_MEMBERS, TenantSettings

DOCS = Path(__file__).parents[4] / "docs"
IDLE = Workload(
    daily_users=DAY_S,
    messages=0,
    connects=0,
    chat_opens=0,
    list_opens=0,
    new_chats=0,
    notifications=0,
    broadcasts=0,
    peak_factor=1,
    large_group_share=0,
)
"""Users who do nothing, so that a test adds one load of one unit a second per user and day."""


def per_s(plan: CapacityPlan) -> dict[str, tuple[float, float]]:
    """Return write and read units per second, rounded, by table."""
    found = {each.table: (round(each.write_per_s, 2), round(each.read_per_s, 2)) for each in plan.tables}
    return {table: units for table, units in found.items() if any(units)}


def test_users_who_do_nothing_need_no_units() -> None:
    assert per_s(make_plan(IDLE)) == {}


def test_a_direct_message_to_a_connected_user_who_reads_it() -> None:
    workload = replace(IDLE, messages=1, direct_share=1, connected_share=1, read_share=1, in_a_row=10**9)
    assert per_s(make_plan(workload)) == {
        "messages": (1, 1),
        "delivery_state": (2 + 1, 0),
        "chat_memberships": (0, 1),
    }


def test_a_direct_message_to_an_absent_user_is_queued_and_checked() -> None:
    workload = replace(
        IDLE, messages=1, direct_share=1, connected_share=0, in_a_row=10**9, groups=2, per_minute=1
    )
    assert per_s(make_plan(workload)) == {
        "messages": (1, 1),
        "delivery_state": (2, 1 + 2),
        "chat_counters": (0, 2),
        "pending_queue": (2, 0),
    }


def test_a_message_in_a_group_writes_three_units_and_checks_each_absent_member() -> None:
    workload = replace(
        IDLE, messages=1, direct_share=0, group_members=41, connected_share=0.5, in_a_row=10**9
    )
    plan = replace(workload, groups=0, group_read_share=0, per_minute=10)
    assert per_s(make_plan(plan)) == {
        "messages": (1, 1),
        "chat_counters": (1, 1),
        "delivery_state": (1 + 20 / 10, 20 + 20 * 2),
    }


def test_members_of_large_groups_are_not_checked() -> None:
    small = replace(IDLE, messages=1, direct_share=0, connected_share=0, group_members=100)
    large = replace(small, group_members=101)
    reads = [sum(each.read_per_s for each in make_plan(workload).tables) for workload in (small, large)]
    assert reads[0] > 99
    assert reads[1] < 2


def test_a_large_message_costs_a_unit_for_each_kilobyte() -> None:
    workload = replace(IDLE, messages=1, message_bytes=3_000, in_a_row=10**9)
    assert per_s(make_plan(workload))["messages"][0] == 4


def test_retention_writes_each_message_again_and_bounds_storage() -> None:
    kept = make_plan(replace(IDLE, messages=1))
    expired = make_plan(replace(IDLE, messages=1, retention_days=36))
    assert per_s(expired)["messages"][0] - per_s(kept)["messages"][0] == 2
    [of_kept], [of_expired] = (
        [each.storage_gb for each in plan.tables if each.table == "messages"] for plan in (kept, expired)
    )
    assert of_kept == pytest.approx(10 * of_expired)


def test_the_largest_scenario_is_the_planned_installation() -> None:
    plan = make_plan(SCENARIOS["100m"])
    assert plan.messages_per_s == pytest.approx(350_000, rel=0.02)
    [messages] = [each for each in plan.tables if each.table == "messages"]
    assert messages.storage_gb / 1e6 == pytest.approx(1.8, rel=0.25), "petabytes in a year"
    assert plan.fleet.kafka.partitions == "large"


def test_a_standby_region_pays_for_writes_and_storage_but_not_for_the_queue() -> None:
    alone, both = (make_plan(replace(SCENARIOS["1m"], has_standby=standby)) for standby in (False, True))
    costs = [{each.table: each for each in plan.tables} for plan in (alone, both)]
    assert costs[1]["messages"].storage == 2 * costs[0]["messages"].storage
    assert costs[1]["delivery_state"].on_demand > costs[0]["delivery_state"].on_demand
    assert costs[1]["pending_queue"] == costs[0]["pending_queue"]


def test_the_sum_is_that_of_its_lines() -> None:
    plan = make_plan(SCENARIOS["10k"])
    assert plan.dollars_per_month == sum(line.dollars for line in plan.costs)
    of = pricing.PRICES[TableClass.STANDARD]
    writes = sum(each.write_units for each in plan.operations)
    reads = sum(each.read_units for each in plan.operations)
    requests = (writes * float(of.million_writes) + reads * float(of.million_reads)) / 1e6
    assert float(plan.costs[0].dollars) == pytest.approx(requests)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"daily_users": 500_000}, "when new"),
        ({"daily_users": 5_000_000}, "default quota"),
        ({"busiest_chat_per_s": 900}, "messages: the busiest chat"),
        ({"large_group_members": 100_000}, "members of a group: 1,000 by default"),
        ({"large_group_members": 100_001}, "members of a group: 100,000"),
        ({"large_group_members": 150_000, "connected_share": 1}, "chat_counters: the largest group"),
        ({"group_members": 100}, "offline checks"),
        ({"message_bytes": 5_000}, "content of a message"),
        ({"busiest_chat_per_s": 10}, "log of a chat"),
        ({"daily_users": 1_000_000, "connected_share": 0.34}, "connections of a gateway"),
        ({"daily_users": 300_000_000}, "delivery workers: 720"),
        ({"daily_users": 10_000_000}, "Redis: one node"),
        ({"daily_users": 1_000_000_000}, "Redis shards: 500"),
        ({"daily_users": 100_000_000}, "change stream"),
        ({"daily_users": 1_000_000}, "offline checks: their CPU"),
        ({"daily_users": 1_000_000}, "daily backups"),
        ({"daily_users": 100_000_000, "new_chats": 5}, "index user_chats-index"),
    ],
)
def test_each_limit_has_a_warning_with_its_lever(changes: dict[str, float], limit: str) -> None:
    def found(workload: Workload) -> list[str]:
        return [each.lever for each in make_plan(workload).warnings if limit in each.limit]

    assert found(SCENARIOS["10k"]) == []
    [lever, *_] = found(replace(SCENARIOS["10k"], **changes))  # type: ignore[arg-type]
    assert lever.endswith(".")


def test_weekly_backups_cost_a_seventh_of_daily_ones() -> None:
    plan = make_plan(replace(SCENARIOS["10k"], daily_users=1_000_000))
    daily = next(line.dollars for line in plan.costs if "backups" in line.what)
    [warning] = [each for each in plan.warnings if "daily backups" in each.limit]
    assert f"${daily:,.0f} a month" in warning.planned
    assert f"${daily / 7:,.0f}" in warning.lever


def test_the_limits_are_those_of_the_product() -> None:
    assert GatewaySettings().max_connections == fleet.MAX_CONNECTIONS
    assert rules.MAX_CHECKED_MEMBERS == MAX_SMALL_MEMBERS
    assert limits.MAX_MEMBERS == MAX_MEMBERS
    assert TenantSettings(name="acme").max_members == limits.DEFAULT_MEMBERS
    assert rules.BADGE_S * 1_000 == offline_checker._BADGE_MS


@pytest.mark.parametrize("value", measured.ALL, ids=lambda value: f"{value.value:g}")
def test_each_measured_value_is_on_its_page(value: measured.Measured) -> None:
    """Values below 1 are shares that the page does not state."""
    page = (DOCS / value.page).read_text()
    assert value.commit in page
    milliseconds = f"{value.value / 1_000:g}"
    assert value.value < 1 or re.search(rf"\b({value.value:,g}|{re.escape(milliseconds)})\b", page)


def test_the_command_prints_a_plan_and_takes_other_inputs() -> None:
    shown = CliRunner().invoke(tidings, ["plan", "--scenario", "1m", "--messages", "10"]).output
    assert "1,000,000 daily users, 10,000,000 messages a day" in shown
    found = json.loads(CliRunner().invoke(tidings, ["plan", "--users", "5000", "--standby", "--json"]).output)
    assert (found["workload"]["daily_users"], found["workload"]["has_standby"]) == (5_000, True)
    assert {each["table"] for each in found["tables"]} >= {"messages", "delivery_state"}
