import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { isErasing } from "../data_requests/model.ts";
import { UserDataRequests, useDataRequests } from "../data_requests/user_requests.tsx";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { PagedList, QueryView, usePages } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { Empty, ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import { UserInbox } from "./inbox.tsx";
import type { ChatPageAnswer, ChatSummary, Device, User, UserOverview, UserSession } from "./model.ts";

export interface UserProps {
  tenant: string;
  user: string;
}

export function UserPage(): ReactNode {
  const { tenant, user } = useParams({ from: "/t/$tenant/users/$user" });
  const props = { tenant, user };
  const { data } = useDataRequests(tenant, user);
  if (isErasing(data?.erasure))
    return (
      <>
        <h1>{user}</h1>
        <p>This user is erased or is being erased. Their chats, devices and sessions are not shown.</p>
        <UserDataRequests {...props} />
      </>
    );
  return (
    <>
      <h1>{user}</h1>
      {data?.erasure?.state === "awaiting_approval" && (
        <Notice kind="error">
          <p>
            The erasure of this user waits for an approval. <a href="#erasure">See the request</a>
          </p>
        </Notice>
      )}
      <UserFacts {...props} />
      <section aria-labelledby="chats">
        <h2 id="chats">Chats</h2>
        <UserChats {...props} />
      </section>
      <section aria-labelledby="devices">
        <h2 id="devices">Connected devices</h2>
        <UserDevices {...props} />
      </section>
      <section aria-labelledby="sessions">
        <h2 id="sessions">Sessions</h2>
        <UserSessions {...props} />
      </section>
      <section aria-labelledby="inbox">
        <h2 id="inbox">Inbox</h2>
        <UserInbox {...props} />
      </section>
      <UserDataRequests {...props} />
    </>
  );
}

function UserFacts({ tenant, user }: UserProps) {
  const query = useQuery({
    queryKey: ["user", tenant, user],
    queryFn: () => call<UserOverview>("GET", path`/tenants/${tenant}/users/${user}`),
  });
  return (
    <QueryView query={query}>
      {({ user: found, presence, last_seen_at, chats }) => (
        <>
          <Facts
            facts={{
              Name: found.display_name,
              Phone: found.phone,
              Presence: presence,
              "Last seen": last_seen_at && <Time at={last_seen_at} />,
              Chats: chats,
              Created: <Time at={found.created_at} />,
            }}
          />
          {found.suspended_at && (
            <Notice kind="error">
              <p>
                Suspended since <Time at={found.suspended_at} />. All credentials of this user are refused, so
                their devices can neither send nor receive.
              </p>
            </Notice>
          )}
          <SuspendButton tenant={tenant} user={found} />
        </>
      )}
    </QueryView>
  );
}

function SuspendButton({ tenant, user }: { tenant: string; user: User }) {
  const isSuspended = user.suspended_at !== undefined;
  const askReason = useAskReason();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (reason: string) =>
      call(isSuspended ? "DELETE" : "PUT", path`/tenants/${tenant}/users/${user.id}/suspension`, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["user", tenant, user.id] }),
  });
  const isAllowed = useMay(isSuspended ? "unsuspend_user" : "suspend_user");
  if (!isAllowed) return null;
  const start = async () => {
    const reason = await askReason({
      title: isSuspended ? `End the suspension of ${user.id}?` : `Suspend ${user.id}?`,
      text: isSuspended
        ? "The user can connect and send again."
        : "All sessions end, and the user can neither connect nor send.",
      action: isSuspended ? "End the suspension" : "Suspend",
    });
    if (reason) change.mutate(reason);
  };
  return (
    <>
      <button type="button" disabled={change.isPending} onClick={() => void start()}>
        {isSuspended ? "End the suspension" : "Suspend"}
      </button>
      {change.error && <ErrorView error={change.error} />}
    </>
  );
}

/** Whether the user can send in the chat, and the reason why not. */
function MemberState({ chat, user }: { chat: ChatSummary; user: string }) {
  const { is_member, others, blocks_other, blocked_by_other } = chat;
  if (!is_member) return "left";
  const other = others[0] ?? "the other member";
  const reasons = [
    ...(blocked_by_other ? [`${other} blocks ${user}`] : []),
    ...(blocks_other ? [`${user} blocks ${other}`] : []),
  ];
  if (!reasons.length) return "yes";
  return <span className="bad">{reasons.join(", and ")}: messages are refused</span>;
}

function UserChats({ tenant, user }: UserProps) {
  const chats = usePages<ChatPageAnswer>(
    ["user-chats", tenant, user],
    path`/tenants/${tenant}/users/${user}/chats`,
  );
  return (
    <PagedList query={chats} items={(page) => page.chats} empty={{ title: "This user has no chat" }}>
      {(found) => (
        <DataTable
          caption="Chats"
          items={found}
          keyOf={({ id }) => id}
          columns={[
            {
              title: "Chat",
              cell: (chat) => (
                <Link to="/t/$tenant/chats/$chat" params={{ tenant, chat: chat.id }} search={{ user }}>
                  {nameOf(chat)}
                </Link>
              ),
            },
            { title: "Type", cell: ({ type }) => type },
            { title: "Last activity", cell: ({ last_activity_at }) => <Time at={last_activity_at} /> },
            { title: "Member", cell: (chat) => <MemberState chat={chat} user={user} /> },
            {
              title: "Badge",
              cell: (chat) => (
                <Link to="/t/$tenant/users/$user/chats/$chat" params={{ tenant, user, chat: chat.id }}>
                  Why this number?
                </Link>
              ),
            },
          ]}
        />
      )}
    </PagedList>
  );
}

function nameOf({ id, name, others, more_others }: ChatSummary): string {
  if (name) return name;
  return [...others, ...(more_others ? [`${more_others} more`] : [])].join(", ") || id;
}

function UserDevices({ tenant, user }: UserProps) {
  const query = useQuery({
    queryKey: ["devices", tenant, user],
    queryFn: () =>
      call<{ devices?: Device[]; unavailable?: string }>(
        "GET",
        path`/tenants/${tenant}/users/${user}/devices`,
      ),
    refetchInterval: 10_000,
  });
  return (
    <QueryView query={query}>
      {({ devices = [], unavailable }) => {
        if (unavailable) return <Notice kind="error">{unavailable}</Notice>;
        if (!devices.length) return <Empty title="No device is connected" />;
        return (
          <DataTable
            caption="Connected devices"
            items={devices}
            keyOf={({ id }) => id}
            columns={[
              { title: "Device", cell: ({ id }) => <code>{id}</code> },
              { title: "Connected since", cell: ({ connected_since }) => <Time at={connected_since} /> },
              { title: "Gateway", cell: ({ gateway }) => <code>{gateway}</code> },
              {
                title: "Gateway's process",
                cell: ({ is_gateway_running }) =>
                  is_gateway_running ? "running" : <span className="tag bad">not running</span>,
              },
            ]}
          />
        );
      }}
    </QueryView>
  );
}

function UserSessions({ tenant, user }: UserProps) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const url = path`/tenants/${tenant}/users/${user}/sessions`;
  const query = useQuery({
    queryKey: ["user-sessions", tenant, user],
    queryFn: () => call<{ sessions: UserSession[] }>("GET", url),
  });
  const end = useMutation({
    mutationFn: ({ id, reason }: { id: string; reason: string }) =>
      call("DELETE", url + path`/${id}`, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["user-sessions", tenant, user] }),
  });
  const start = async ({ id, device_name }: UserSession) => {
    const reason = await askReason({
      title: "End this session?",
      text: `${device_name ?? "The device"} is signed out and must sign in again.`,
      action: "End the session",
    });
    if (reason) end.mutate({ id, reason });
  };
  const isAllowed = useMay("end_user_session");
  return (
    <QueryView query={query}>
      {({ sessions }) =>
        sessions.length ? (
          <>
            {end.error && <ErrorView error={end.error} />}
            <DataTable
              caption="Sessions"
              items={sessions}
              keyOf={({ id }) => id}
              columns={[
                { title: "Device", cell: ({ device_name, device }) => device_name ?? device },
                { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
                { title: "Refreshed", cell: ({ refreshed_at }) => <Time at={refreshed_at} /> },
                { title: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
                {
                  title: "Action",
                  cell: (session) =>
                    isAllowed && (
                      <button type="button" onClick={() => void start(session)}>
                        End
                      </button>
                    ),
                },
              ]}
            />
          </>
        ) : (
          <Empty title="This user has no session">
            Users whose tokens come from the tenant's server have none.
          </Empty>
        )
      }
    </QueryView>
  );
}
