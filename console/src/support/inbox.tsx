import { type ReactNode, useState } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { type Page, PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import type { BadgeExplanation } from "./model.ts";
import type { UserProps } from "./user.tsx";

/** Why a notification is counted or not, by the API's reason. */
const REASONS: Record<string, string> = {
  before_joining: "It was sent before the user joined.",
  not_targeted: "The user is not in the segment of the broadcast.",
  channel_off: "The inbox is switched off for its category, by the user or by the tenant.",
  throttled: "The category had reached its limit for this time.",
  digested: "Another notification with the same digest key shows it.",
  redacted: "It was recalled.",
  expired: "It has expired.",
  retention_over: "It is older than the retention of the inbox.",
  archived: "The user has archived it.",
  read: "The user has read it.",
  marked_all: "The user has marked all as read.",
  marked_category: "The user has marked its category as read.",
  unread_again: "The user has marked it as unread.",
  delivered: "It was delivered and is unread.",
};

/** The notifications of a user, and why the badge shows its number. */
export function UserInbox({ tenant, user }: UserProps): ReactNode {
  const query = usePages<Page & { inboxes: { id: string; title?: string }[] }>(
    ["inboxes", tenant],
    path`/tenants/${tenant}/inboxes`,
  );
  const [chosen, setChosen] = useState<string>();
  return (
    <PagedList query={query} items={({ inboxes }) => inboxes} empty={{ title: "This tenant has no inbox" }}>
      {(inboxes) => {
        const inbox = chosen ?? inboxes[0]?.id ?? "";
        return (
          <>
            <label>
              Inbox
              <select value={inbox} onChange={(event) => setChosen(event.target.value)}>
                {inboxes.map(({ id, title }) => (
                  <option key={id} value={id}>
                    {title ?? id}
                  </option>
                ))}
              </select>
            </label>
            <Badge key={inbox} tenant={tenant} user={user} inbox={inbox} />
          </>
        );
      }}
    </PagedList>
  );
}

function Badge({ tenant, user, inbox }: UserProps & { inbox: string }) {
  const explained = usePages<BadgeExplanation>(
    ["badge", tenant, user, inbox],
    path`/tenants/${tenant}/users/${user}/inboxes/${inbox}/explain`,
  );
  const counts = explained.data?.pages[0]?.counts;
  return (
    <>
      {counts && (
        <p>
          The badge shows <strong>{counts.unread}</strong>: the number of unread notifications.{" "}
          {counts.unseen} of them arrived after the user last opened the inbox.
        </p>
      )}
      <PagedList
        query={explained}
        items={(page) => page.notifications}
        empty={{ title: "This user has no notification" }}
      >
        {(found) => (
          <DataTable
            caption="Notifications"
            items={found}
            keyOf={({ id }) => id}
            columns={[
              { title: "Notification", cell: ({ id }) => <code>{id}</code> },
              { title: "Category", cell: ({ category }) => category },
              { title: "Counted", cell: ({ is_counted }) => (is_counted ? <strong>yes</strong> : "no") },
              { title: "Why", cell: ({ why }) => REASONS[why] ?? why },
              { title: "Since", cell: ({ since }) => <Time at={since} /> },
            ]}
          />
        )}
      </PagedList>
    </>
  );
}
