import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { Empty, ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import { ProcessState } from "./health.tsx";
import type { Gateway, GatewayList } from "./model.ts";

const REFRESH_MS = 5_000;

/** The gateways with their connections. An operator can drain them. */
export function GatewaysPage(): ReactNode {
  const query = useQuery({
    queryKey: ["gateways"],
    queryFn: () => call<GatewayList>("GET", "/gateways"),
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      <h1>Gateways</h1>
      <p>The console asks every gateway for its state every 15 seconds.</p>
      <QueryView query={query}>
        {({ gateways, may_drain }) =>
          gateways.length ? (
            <GatewayTable gateways={gateways} hasToken={may_drain} />
          ) : (
            <Empty title="No gateway is known">Add its admin address to `console.processes`.</Empty>
          )
        }
      </QueryView>
    </>
  );
}

function GatewayTable({ gateways, hasToken }: { gateways: Gateway[]; hasToken: boolean }) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const isAllowed = useMay("drain_gateway");
  const drain = useMutation({
    mutationFn: ({ address, reason }: { address: string; reason: string }) =>
      call("POST", path`/gateways/${address}/drain`, { reason }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["gateways"] }),
  });
  const start = async (address: string) => {
    const reason = await askReason({
      title: "Drain this gateway?",
      text: "It accepts no new connections. Its devices reconnect to other gateways and lose no message. Then its process ends; your process manager may start it again.",
      action: "Drain",
    });
    if (reason) drain.mutate({ address, reason });
  };
  return (
    <>
      {isAllowed && !hasToken && (
        <Notice kind="info">
          Set `process.drain_token` for the console and the gateways to drain them here. Without it, send
          SIGTERM to a gateway.
        </Notice>
      )}
      {drain.error && <ErrorView error={drain.error} />}
      <DataTable
        caption="Gateways"
        items={gateways}
        keyOf={({ process }) => process.address}
        columns={[
          { title: "Address", cell: ({ process }) => <code>{process.address}</code> },
          { title: "State", cell: ({ process }) => <ProcessState process={process} /> },
          { title: "Open connections", cell: ({ open_connections }) => open_connections ?? "unknown" },
          { title: "Devices", cell: ({ devices }) => devices ?? "unknown" },
          { title: "Last answer", cell: ({ process }) => <Time at={process.seen_at} /> },
          ...(isAllowed && hasToken
            ? [
                {
                  title: "Action",
                  cell: ({ process }: Gateway) => (
                    <button
                      type="button"
                      disabled={drain.isPending || !process.is_ready}
                      onClick={() => void start(process.address)}
                    >
                      Drain
                    </button>
                  ),
                },
              ]
            : []),
        ]}
      />
    </>
  );
}
