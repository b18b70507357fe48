import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { useMay } from "../session_gate.tsx";
import { type JsonDraft, JsonField, useJsonDraft } from "./json_field.tsx";
import type { InboxConfig, Preview } from "./model.ts";
import { SendForm } from "./send.tsx";

export function InboxPage(): ReactNode {
  const { tenant, inbox } = useParams({ from: "/t/$tenant/inboxes/$inbox" });
  const query = useQuery({
    queryKey: ["inbox", tenant, inbox],
    queryFn: () => call<InboxConfig>("GET", path`/tenants/${tenant}/inboxes/${inbox}`),
  });
  const maySend = useMay("send_notification");
  return (
    <>
      <h1>Inbox {inbox}</h1>
      <p>
        <Link to="/t/$tenant/jobs" params={{ tenant }}>
          Jobs of this tenant
        </Link>
      </p>
      <QueryView query={query}>
        {(config) => (
          <>
            <section aria-labelledby="configuration">
              <h2 id="configuration">Configuration</h2>
              <ConfigForm key={config.version} tenant={tenant} config={config} />
            </section>
            {maySend && (
              <section aria-labelledby="send">
                <h2 id="send">Send</h2>
                <SendForm tenant={tenant} config={config} />
              </section>
            )}
          </>
        )}
      </QueryView>
    </>
  );
}

const EXAMPLE = { title: "Your order has shipped", text: "It arrives on Tuesday." };

function ConfigForm({ tenant, config }: { tenant: string; config: InboxConfig }) {
  const queries = useQueryClient();
  const isAllowed = useMay("set_inbox");
  const [title, setTitle] = useState(config.title);
  const [categories, setCategories] = useState(config.categories.join(", "));
  const schema = useJsonDraft(config.payload_schema ?? undefined);
  const url = path`/tenants/${tenant}/inboxes/${config.id}`;
  const save = useMutation({
    mutationFn: () => call<InboxConfig>("PUT", url, { body: bodyOf(config, title, categories, schema) }),
    onSuccess: (saved) => queries.setQueryData(["inbox", tenant, config.id], saved),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <label>
        Title
        <input required maxLength={64} value={title} onChange={(event) => setTitle(event.target.value)} />
      </label>
      <label>
        Categories, separated by commas
        <input value={categories} onChange={(event) => setCategories(event.target.value)} />
      </label>
      <JsonField label="Schema of messages (JSON Schema), empty for none" draft={schema} rows={10} />
      <PreviewForm url={url} schema={schema} />
      {save.error && <ErrorView error={save.error} />}
      {save.isSuccess && <Notice kind="good">Saved.</Notice>}
      <button type="submit" className="primary" disabled={!isAllowed || save.isPending || !schema.isValid}>
        Save
      </button>
    </form>
  );
}

/** Return the whole configuration: fields that this form does not show are kept. */
function bodyOf(config: InboxConfig, title: string, categories: string, schema: JsonDraft) {
  const { description, retention_days, expires_after_s, default_category, known_users } = config;
  const names = categories.split(",").map((name) => name.trim());
  return {
    title,
    description,
    retention_days,
    expires_after_s,
    default_category,
    known_users,
    categories: names.filter(Boolean),
    payload_schema: schema.value ?? null,
  };
}

/** Check a message against the schema as it is in the form, before it is saved. */
function PreviewForm({ url, schema }: { url: string; schema: JsonDraft }) {
  const message = useJsonDraft(EXAMPLE);
  const preview = useMutation({
    mutationFn: () => {
      const body = { message: message.value, ...(schema.value ? { payload_schema: schema.value } : {}) };
      return call<Preview>("POST", `${url}/preview`, { body });
    },
  });
  return (
    <>
      <JsonField label="A message to check" draft={message} rows={4} />
      <button
        type="button"
        disabled={!message.isValid || !schema.isValid || preview.isPending}
        onClick={() => preview.mutate()}
      >
        Check the message
      </button>
      {preview.error && <ErrorView error={preview.error} />}
      {preview.data && <PreviewResult preview={preview.data} />}
    </>
  );
}

export function PreviewResult({ preview }: { preview: Preview }): ReactNode {
  if (preview.valid) return <Notice kind="good">The message is valid. It has {preview.bytes} bytes.</Notice>;
  return (
    <Notice kind="error">
      <p>The message is not valid. {preview.error}</p>
    </Notice>
  );
}
