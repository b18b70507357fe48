import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { Facts } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import type { LogPosition, UnreadExplanation } from "./model.ts";

/** Why does the badge of a chat show this number? */
export function UnreadPage(): ReactNode {
  const { tenant, user, chat } = useParams({ from: "/t/$tenant/users/$user/chats/$chat" });
  const query = useQuery({
    queryKey: ["unread", tenant, user, chat],
    queryFn: () =>
      call<UnreadExplanation>("GET", path`/tenants/${tenant}/users/${user}/chats/${chat}/unread`),
  });
  return (
    <>
      <h1>Why this number?</h1>
      <p>
        Chat{" "}
        <Link to="/t/$tenant/chats/$chat" params={{ tenant, chat }} search={{ user }}>
          {chat}
        </Link>{" "}
        of{" "}
        <Link to="/t/$tenant/users/$user" params={{ tenant, user }}>
          {user}
        </Link>
      </p>
      <QueryView query={query}>{(found) => <Explanation found={found} />}</QueryView>
    </>
  );
}

const STARTS: Record<string, string> = {
  read: "the last message that the user has read",
  own: "the user's own last message",
  joined: "the user's join",
};

function Explanation({ found }: { found: UnreadExplanation }) {
  const { unread, head, read, own, joined, counts_after } = found;
  return (
    <>
      <p className="figure">
        <strong>{unread}</strong> unread
      </p>
      <p>
        {unread === 1 ? "One message was" : `${unread} messages were`} sent after{" "}
        {STARTS[counts_after] ?? counts_after}.
      </p>
      <Facts
        facts={{
          "Newest message": numberOf(head),
          "Last message that was read": numberOf(read),
          "Last own message": numberOf(own),
          "Joined after": numberOf(joined),
        }}
      />
    </>
  );
}

function numberOf(position: LogPosition | undefined): string | undefined {
  return position && `message ${position.ordinal}, sequence ${position.sequence}`;
}
