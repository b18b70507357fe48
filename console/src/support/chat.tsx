import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { Empty, ErrorView } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { MessageContent, MessageMetadata, MessagePage } from "./model.ts";

export function ChatPage(): ReactNode {
  const { tenant, chat } = useParams({ from: "/t/$tenant/chats/$chat" });
  const { at, user } = useSearch({ from: "/t/$tenant/chats/$chat" });
  const navigate = useNavigate();
  const goTo = (time: string | undefined) =>
    void navigate({
      to: "/t/$tenant/chats/$chat",
      params: { tenant, chat },
      search: { ...(user ? { user } : {}), ...(time ? { at: time } : {}) },
    });
  const query = useQuery({
    queryKey: ["messages", tenant, chat, at],
    queryFn: () =>
      call<MessagePage>("GET", path`/tenants/${tenant}/chats/${chat}/messages`, { query: { at } }),
  });
  return (
    <>
      <h1>Messages</h1>
      <p>
        Chat <code>{chat}</code>
        {user && (
          <>
            {" "}
            of{" "}
            <Link to="/t/$tenant/users/$user" params={{ tenant, user }}>
              {user}
            </Link>
          </>
        )}
      </p>
      <TimeForm key={at} at={at} onSubmit={goTo} />
      <QueryView query={query}>
        {({ messages, has_earlier, has_later }) =>
          messages.length ? (
            <>
              <MessageTable tenant={tenant} chat={chat} user={user} messages={messages} />
              <div className="pager">
                <button type="button" disabled={!has_earlier} onClick={() => goTo(messages[0]?.committed_at)}>
                  Earlier
                </button>
                <button
                  type="button"
                  disabled={!has_later}
                  onClick={() => goTo(messages.at(-1)?.committed_at)}
                >
                  Later
                </button>
                <button type="button" disabled={!has_later} onClick={() => goTo(undefined)}>
                  Newest
                </button>
              </div>
            </>
          ) : (
            <Empty title="No message at this time" />
          )
        }
      </QueryView>
    </>
  );
}

function TimeForm({
  at,
  onSubmit,
}: {
  at: string | undefined;
  onSubmit: (time: string | undefined) => void;
}) {
  const [value, setValue] = useState(at ? localTime(at) : "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(value ? new Date(value).toISOString() : undefined);
  };
  return (
    <form className="search" onSubmit={submit}>
      <label>
        Around this time
        <input
          type="datetime-local"
          step={1}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
      <button type="submit" className="primary">
        Show
      </button>
    </form>
  );
}

/** Return a time as the field for times needs it: local, without a zone. */
function localTime(at: string): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

interface MessageTableProps {
  tenant: string;
  chat: string;
  user: string | undefined;
  messages: MessageMetadata[];
}

function MessageTable({ tenant, chat, user, messages }: MessageTableProps) {
  return (
    <DataTable
      caption="Messages"
      items={messages}
      keyOf={({ message }) => message}
      columns={[
        { title: "Committed", cell: ({ committed_at }) => <Time at={committed_at} /> },
        { title: "Sender", cell: ({ sender }) => sender },
        { title: "Kind", cell: ({ kind, redacted_at }) => (redacted_at ? `${kind}, redacted` : kind) },
        {
          title: "Delivery",
          cell: ({ message }) => (
            <Link
              to="/t/$tenant/messages/$message"
              params={{ tenant, message }}
              search={user ? { user } : {}}
            >
              Where is it?
            </Link>
          ),
        },
        {
          title: "Content",
          cell: ({ message, kind }) =>
            kind === "message" && <Content tenant={tenant} chat={chat} message={message} />,
        },
      ]}
    />
  );
}

/** The content of a message, which the operator sees only after they have given a reason. */
function Content({ tenant, chat, message }: { tenant: string; chat: string; message: string }) {
  const askReason = useAskReason();
  const isAllowed = useMay("read_content");
  const sequence = message.slice(message.lastIndexOf(".") + 1);
  const read = useMutation({
    mutationFn: (reason: string) =>
      call<MessageContent>("POST", path`/tenants/${tenant}/chats/${chat}/messages/${sequence}/content`, {
        reason,
      }),
  });
  const start = async () => {
    const reason = await askReason({
      title: "Read the content of this message?",
      text: `Message ${message}`,
      action: "Read the content",
    });
    if (reason) read.mutate(reason);
  };
  if (read.data) return <ContentText content={read.data} />;
  return (
    <>
      <button type="button" disabled={!isAllowed || read.isPending} onClick={() => void start()}>
        Read
      </button>
      {read.error && <ErrorView error={read.error} />}
    </>
  );
}

function ContentText({ content: { state, content } }: { content: MessageContent }) {
  return content ? <q>{content.text}</q> : <em>{state}</em>;
}
