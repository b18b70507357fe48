import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { type JsonDraft, JsonField, useJsonDraft } from "./json_field.tsx";
import type { BroadcastSend, InboxConfig, NotificationSend } from "./model.ts";

type Audience = "users" | "everyone";
type Send = NotificationSend | BroadcastSend;

interface Draft {
  audience: Audience;
  users: string;
  category: string;
  message: JsonDraft;
}

interface SendFormProps {
  tenant: string;
  config: InboxConfig;
}

/** Send a notification to named users, or a broadcast to everyone. A dry run comes first. */
export function SendForm({ tenant, config }: SendFormProps): ReactNode {
  const [audience, setAudience] = useState<Audience>("users");
  const [users, setUsers] = useState("");
  const [category, setCategory] = useState("");
  const message = useJsonDraft({ title: "", text: "" });
  const draft = { audience, users, category, message };
  return (
    <div className="stack">
      <label>
        To
        <select value={audience} onChange={(event) => setAudience(event.target.value as Audience)}>
          <option value="users">Named users</option>
          <option value="everyone">Everyone in the tenant (broadcast)</option>
        </select>
      </label>
      {audience === "users" && (
        <label>
          Ids of the users, separated by commas
          <input value={users} onChange={(event) => setUsers(event.target.value)} />
        </label>
      )}
      <label>
        Category
        <select value={category} onChange={(event) => setCategory(event.target.value)}>
          <option value="">none</option>
          {config.categories.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <JsonField label="Message" draft={message} rows={5} />
      <SendSteps key={JSON.stringify(bodyOf(draft))} tenant={tenant} config={config} draft={draft} />
    </div>
  );
}

function bodyOf({ audience, users, category, message }: Draft) {
  const ids = users.split(",").map((id) => id.trim());
  return {
    ...(audience === "users" ? { user_ids: ids.filter(Boolean) } : {}),
    message: message.value ?? {},
    ...(category ? { category } : {}),
  };
}

/** The dry run, and then the send. A change of the form needs another dry run. */
function SendSteps({ tenant, config, draft }: SendFormProps & { draft: Draft }) {
  const askReason = useAskReason();
  const [key] = useState(() => crypto.randomUUID());
  const kind = draft.audience === "users" ? "notifications" : "broadcasts";
  const url = path`/tenants/${tenant}/inboxes/${config.id}/` + kind;
  const options = { body: bodyOf(draft), headers: { "Idempotency-Key": key } };
  const tried = useMutation({
    mutationFn: () =>
      call<Send>("POST", url, {
        ...options,
        reason: "dry run",
        query: { dry_run: "true" },
      }),
  });
  const sent = useMutation({
    mutationFn: (reason: string) => call<Send>("POST", url, { ...options, reason }),
  });
  const send = async () => {
    const reason = await askReason({
      title: draft.audience === "users" ? "Send this notification?" : "Send this broadcast to everyone?",
      text: describe(tried.data),
      action: "Send",
    });
    if (reason) sent.mutate(reason);
  };
  const isReady = draft.message.isValid && (draft.audience === "everyone" || draft.users.trim() !== "");
  return (
    <>
      <div className="pager">
        <button type="button" disabled={!isReady || tried.isPending} onClick={() => tried.mutate()}>
          Dry run
        </button>
        <button
          type="button"
          className="primary"
          disabled={!tried.data || sent.isPending || sent.isSuccess}
          onClick={() => void send()}
        >
          Send
        </button>
      </div>
      {tried.error && <ErrorView error={tried.error} />}
      {tried.data && <Notice kind="info">{describe(tried.data)}</Notice>}
      {sent.error && <ErrorView error={sent.error} />}
      {sent.data && <SentNotice tenant={tenant} send={sent.data} />}
    </>
  );
}

function describe(result: Send | undefined): string {
  if (!result) return "";
  if ("total" in result) {
    const unknown = result.unknown_users?.length
      ? ` Users without a profile: ${result.unknown_users.join(", ")}.`
      : "";
    return `It reaches ${result.total} ${result.total === 1 ? "user" : "users"}.${unknown}`;
  }
  if (!result.estimate) return "";
  const { reach, low, high, dollars } = result.estimate;
  return `It reaches about ${reach} users (${low} to ${high}) and costs about $${dollars.toPrecision(2)}.`;
}

function SentNotice({ tenant, send: { sent } }: { tenant: string; send: Send }) {
  if (!sent) return null;
  const job = "job" in sent ? sent.job : sent.jobs[0];
  return (
    <Notice kind="good">
      <p>
        Sent as <code>{sent.id}</code>.
      </p>
      {job && (
        <Link to="/t/$tenant/jobs/$job" params={{ tenant, job }}>
          Follow the job
        </Link>
      )}
    </Notice>
  );
}
