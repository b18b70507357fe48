import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView } from "../parts/states.tsx";
import { useMay } from "../session_gate.tsx";
import type { Tenant } from "./model.ts";

/** Whether erasures of users and the deletion of the tenant need a second approver. Owners can change it. */
export function ApprovalSection({ tenant }: { tenant: string }): ReactNode {
  const query = useQuery({
    queryKey: ["tenant", tenant],
    queryFn: () => call<Tenant>("GET", path`/tenants/${tenant}`),
  });
  return (
    <section aria-labelledby="approval">
      <h2 id="approval">Second approver</h2>
      <QueryView query={query}>
        {({ settings }) => <ApprovalSwitch tenant={tenant} isOn={settings.erasure_approval === true} />}
      </QueryView>
    </section>
  );
}

function ApprovalSwitch({ tenant, isOn }: { tenant: string; isOn: boolean }) {
  const queries = useQueryClient();
  const askReason = useAskReason();
  const change = useMutation({
    mutationFn: (reason: string) =>
      call("PATCH", path`/tenants/${tenant}`, { body: { erasure_approval: !isOn }, reason }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tenant", tenant] }),
  });
  const mayChange = useMay("set_tenant");
  const ask = async () => {
    const reason = await askReason({
      title: isOn ? "Erase without a second approver?" : "Require a second approver?",
      text: isOn
        ? "New requests start at once. Requests that wait for an approval continue to wait."
        : "Erasures of users and the deletion of the tenant start when another operator or API key approves them.",
      action: isOn ? "Turn off" : "Turn on",
    });
    if (reason) change.mutate(reason);
  };
  return (
    <>
      <p>
        {isOn
          ? "Erasures of users and the deletion of the tenant need a second approver."
          : "Erasures of users and the deletion of the tenant start without a second approver."}
      </p>
      {mayChange && (
        <button type="button" disabled={change.isPending} onClick={() => void ask()}>
          {isOn ? "Turn off the second approver" : "Require a second approver"}
        </button>
      )}
      {change.error && <ErrorView error={change.error} />}
    </>
  );
}
