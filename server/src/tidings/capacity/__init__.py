"""The capacity plan: what a workload needs and costs, computed from tested units and measured CPU. Pure."""
