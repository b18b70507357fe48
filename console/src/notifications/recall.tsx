import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { PagedList, usePages } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { NotificationLookup, RecallProofPage } from "./model.ts";

interface RecallProps {
  tenant: string;
  inbox: string;
  notification: string;
}

/** Recall a notification, and show the proof: the users who had it, and when it was read and removed. */
export function Recall({ tenant, inbox, notification }: RecallProps): ReactNode {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const isAllowed = useMay("recall_notification");
  const url = path`/tenants/${tenant}/inboxes/${inbox}/notifications/${notification}`;
  const found = useQuery({
    queryKey: ["notification", tenant, notification],
    queryFn: () => call<NotificationLookup>("GET", url),
  });
  const recall = useMutation({
    mutationFn: (reason: string) => call("DELETE", url, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["notification", tenant, notification] }),
  });
  const start = async () => {
    const reason = await askReason({
      title: "Recall this notification?",
      text: "It disappears from every inbox, also if it was read. This cannot be undone.",
      action: "Recall",
    });
    if (reason) recall.mutate(reason);
  };
  const redactedAt = found.data?.redacted_at;
  return (
    <section aria-labelledby="recipients">
      <h2 id="recipients">Recipients</h2>
      {found.error && <ErrorView error={found.error} />}
      {redactedAt && (
        <Notice kind="info">
          Recalled <Time at={redactedAt} />
        </Notice>
      )}
      {found.data && !redactedAt && isAllowed && (
        <button type="button" disabled={recall.isPending} onClick={() => void start()}>
          Recall the notification
        </button>
      )}
      {recall.error && <ErrorView error={recall.error} />}
      <Proof url={url} notification={notification} />
    </section>
  );
}

function Proof({ url, notification }: { url: string; notification: string }) {
  const isAllowed = useMay("list_recipients");
  const proofs = usePages<RecallProofPage>(["recipients", notification], `${url}/recipients`, {}, isAllowed);
  if (!isAllowed) return null;
  return (
    <PagedList
      query={proofs}
      items={(page) => page.users}
      empty={{ title: "No user has this notification yet" }}
    >
      {(users) => (
        <DataTable
          caption="Recipients"
          items={users}
          keyOf={({ user }) => user}
          columns={[
            { title: "User", cell: ({ user }) => user },
            { title: "Delivered", cell: ({ delivered_at }) => <Time at={delivered_at} /> },
            { title: "Read", cell: ({ read_at }) => <Time at={read_at} /> },
            { title: "Removed", cell: ({ removed_at }) => <Time at={removed_at} /> },
          ]}
        />
      )}
    </PagedList>
  );
}
