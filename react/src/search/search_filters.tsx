import type { ChatRow } from "@tidings/client";
import { type ReactNode, useId, useMemo } from "react";
import { useChat } from "../hooks/chat.ts";
import { useChatList } from "../hooks/chat_list.ts";
import { useCurrentUser, useSettings } from "../hooks/client.ts";
import { useObservable } from "../hooks/observable.ts";
import { useChatNames, useUserNames } from "../hooks/user.ts";
import type { SearchFields } from "./search_query.ts";

export interface SearchFiltersProps {
  fields: SearchFields;
  onChange: (changed: Partial<SearchFields>) => void;
}

/** The filters of a search: chat, sender, days and attachments. */
export function SearchFilters({ fields, onChange }: SearchFiltersProps): ReactNode {
  const { locale } = useSettings();
  const id = useId();
  const { rows } = useChatList();
  const nameOf = useChatNames();
  const chats = rows.map((row) => ({ id: row.chat, name: nameOf(row, row.chat) }));
  return (
    <fieldset className="td-search-filters">
      <legend className="td-hidden">{locale.text("searchFilters")}</legend>
      <label htmlFor={`${id}chat`}>{locale.text("searchChat")}</label>
      <select
        id={`${id}chat`}
        value={fields.chat}
        onChange={({ target }) => onChange({ chat: target.value, from: "" })}
      >
        <option value="">{locale.text("searchAllChats")}</option>
        {chats.map(({ id: chat, name }) => (
          <option key={chat} value={chat}>
            {name}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}from`}>{locale.text("searchFrom")}</label>
      {fields.chat ? (
        <ChatSenders key={fields.chat} id={`${id}from`} fields={fields} onChange={onChange} />
      ) : (
        <KnownSenders id={`${id}from`} rows={rows} fields={fields} onChange={onChange} />
      )}
      <label htmlFor={`${id}first`}>{locale.text("searchFirstDay")}</label>
      <input
        id={`${id}first`}
        type="date"
        value={fields.firstDay}
        max={fields.lastDay || undefined}
        onChange={({ target }) => onChange({ firstDay: target.value })}
      />
      <label htmlFor={`${id}last`}>{locale.text("searchLastDay")}</label>
      <input
        id={`${id}last`}
        type="date"
        value={fields.lastDay}
        min={fields.firstDay || undefined}
        onChange={({ target }) => onChange({ lastDay: target.value })}
      />
      <label className="td-search-check">
        <input
          type="checkbox"
          checked={fields.hasAttachment}
          onChange={({ target }) => onChange({ hasAttachment: target.checked })}
        />
        {locale.text("searchHasAttachment")}
      </label>
    </fieldset>
  );
}

interface SendersProps extends SearchFiltersProps {
  id: string;
}

/** The members of the chat that is searched. */
function ChatSenders(props: SendersProps) {
  const members = useObservable(useChat(props.fields.chat).members);
  return <SenderChoice users={members} {...props} />;
}

/** The users that the chat list has: those of direct chats and of small groups. */
function KnownSenders({ rows, ...props }: SendersProps & { rows: readonly ChatRow[] }) {
  const users = useMemo(() => rows.flatMap(({ members }) => members ?? []), [rows]);
  return <SenderChoice users={users} {...props} />;
}

function SenderChoice({ id, users, fields, onChange }: SendersProps & { users: readonly string[] }) {
  const { locale } = useSettings();
  const nameOf = useUserNames();
  const self = useCurrentUser();
  const others = [...new Set(users)].filter((user) => user !== self).sort();
  const choices = self === undefined ? others : [self, ...others];
  return (
    <select id={id} value={fields.from} onChange={({ target }) => onChange({ from: target.value })}>
      <option value="">{locale.text("searchAnyone")}</option>
      {choices.map((user) => (
        <option key={user} value={user}>
          {nameOf(user)}
        </option>
      ))}
    </select>
  );
}
