import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { Facts } from "../parts/data_table.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { Empty, ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { DataRequests, Export } from "./model.ts";

const KB = 1024;

/** The last export of a user, and the buttons that start one and download its archive. */
export function ExportView({
  tenant,
  user,
  found,
}: {
  tenant: string;
  user: string;
  found: DataRequests;
}): ReactNode {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const url = path`/tenants/${tenant}/users/${user}/export`;
  const refresh = () => queries.invalidateQueries({ queryKey: ["data-requests", tenant, user] });
  const start = useMutation({
    mutationFn: (reason: string) => call<Export>("POST", url, { reason }),
    onSuccess: refresh,
  });
  const link = useMutation({
    mutationFn: (reason: string) => call<Export>("POST", `${url}/link`, { reason }),
  });
  const mayExport = useMay("export_user");
  if (!found.can_export)
    return (
      <Empty title="This installation has no bucket for archives">
        Run `tidings user export {tenant} {user}` on a machine of the installation.
      </Empty>
    );
  const last = found.export;
  const ask = async (action: "export" | "link") => {
    const reason = await askReason(action === "export" ? exportOf(user) : downloadOf(user));
    if (reason) (action === "export" ? start : link).mutate(reason);
  };
  return (
    <>
      {last && <ExportFacts found={last} />}
      {mayExport && (
        <div className="pager">
          {last?.state !== "running" && (
            <button type="button" disabled={start.isPending} onClick={() => void ask("export")}>
              {last ? "Export again …" : "Export data …"}
            </button>
          )}
          {last?.state === "ready" && (
            <button
              type="button"
              className="primary"
              disabled={link.isPending}
              onClick={() => void ask("link")}
            >
              Get the download link …
            </button>
          )}
        </div>
      )}
      {!mayExport && !last && <p>Your role does not allow exports.</p>}
      {start.error && <ErrorView error={start.error} />}
      {link.error && <ErrorView error={link.error} />}
      {link.data?.url && (
        <Notice kind="good">
          <p>
            <a href={link.data.url} download>
              Download {user}.zip
            </a>
          </p>
          <p className="hint">
            The link needs no sign-in and works until <Time at={link.data.url_expires_at} />.
          </p>
        </Notice>
      )}
    </>
  );
}

function ExportFacts({ found }: { found: Export }) {
  const { state, counts, size, failure } = found;
  return (
    <>
      <Facts
        facts={{
          State: <span className={state === "failed" ? "tag bad" : "tag"}>{STATES[state]}</span>,
          Requested: <Time at={found.requested_at} />,
          "Archive is deleted": state === "ready" && <Time at={found.expires_at} />,
          Size: size && sizeText(size),
          Chats: counts.chats,
          Messages: counts.entries,
          Notifications: counts.notifications,
          Attachments: counts.attachments,
          Failure: failure,
        }}
      />
      {state === "running" && <progress aria-label="The export runs" />}
    </>
  );
}

const STATES: Record<Export["state"], string> = {
  running: "Exporting",
  ready: "Ready",
  failed: "Failed",
  expired: "Deleted",
};

function sizeText(bytes: number): string {
  if (bytes < KB) return `${bytes} bytes`;
  return bytes < KB * KB ? `${Math.round(bytes / KB)} KB` : `${(bytes / KB / KB).toFixed(1)} MB`;
}

function exportOf(user: string) {
  return {
    title: `Export all data of ${user}?`,
    text: "A job writes an archive with all chats that the user can read. It is kept for 7 days.",
    action: "Export",
  };
}

function downloadOf(user: string) {
  return {
    title: `Download the data of ${user}?`,
    text: "The archive has all chats of the user in clear text.",
    action: "Get the link",
  };
}
