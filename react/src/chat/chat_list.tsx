import type { ChatRow } from "@tidings/client";
import { memo, type ReactNode, useCallback, useMemo } from "react";
import { useTimeText } from "../clock.ts";
import { useChatList, useChatRow } from "../hooks/chat_list.ts";
import { useSettings } from "../hooks/client.ts";
import { usePresence } from "../hooks/ephemeral.ts";
import { directUser, useChatNames, useUserNames } from "../hooks/user.ts";
import { Avatar } from "../parts/avatar.tsx";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, LoadingState } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { useComponent } from "../slots.tsx";

export interface ChatListProps {
  /** The id of the chat that is open. */
  selected?: string | undefined;
  onSelect: (chat: string) => void;
  isArchived?: boolean;
}

/** The chats of the user. The arrow keys move between them and Enter opens one. */
export function ChatList({ selected, onSelect, isArchived = false }: ChatListProps): ReactNode {
  const { rows, isLoaded } = useChatList({ isArchived });
  const { locale } = useSettings();
  const ids = useStableIds(rows);
  const Empty = useComponent("EmptyState", EmptyState);
  const Loading = useComponent("LoadingState", LoadingState);
  const renderItem = useCallback(
    (id: string, isTabStop: boolean) => (
      <ChatListEntry chat={id} isSelected={id === selected} isTabStop={isTabStop} onSelect={onSelect} />
    ),
    [selected, onSelect],
  );
  if (ids.length === 0) {
    if (!isLoaded) return <Loading shape="rows" />;
    return <Empty icon="chat" title={locale.text("noChats")} hint={locale.text("noChatsHint")} />;
  }
  return <VirtualList ids={ids} label={locale.text("chats")} current={selected} renderItem={renderItem} />;
}

/** Return the ids of rows: the same array until an id is added, removed or moved. */
function useStableIds(rows: readonly ChatRow[]): readonly string[] {
  const joined = rows.map((row) => row.chat).join(" ");
  // Ids of chats have no spaces.
  return useMemo(() => (joined === "" ? [] : joined.split(" ")), [joined]);
}

export interface ChatListItemProps {
  row: ChatRow;
  isSelected: boolean;
  /** Whether the Tab key stops here. The others are reached with the arrow keys. */
  isTabStop: boolean;
  onSelect: (chat: string) => void;
}

const ChatListEntry = /* @__PURE__ */ memo(function ChatListEntry({
  chat,
  ...rest
}: Omit<ChatListItemProps, "row"> & { chat: string }) {
  const row = useChatRow(chat);
  const ListItem = useComponent("ChatListItem", ChatListItem);
  return row ? <ListItem row={row} {...rest} /> : null;
});

/** One row of the chat list: avatar, name, preview, time and number of unread messages. */
export function ChatListItem({ row, isSelected, isTabStop, onSelect }: ChatListItemProps): ReactNode {
  const { locale } = useSettings();
  const name = useChatNames()(row, row.chat);
  const unread = row.unread ?? 0;
  return (
    <button
      type="button"
      className="td-chat-row"
      data-td-item=""
      data-unread={unread > 0 || undefined}
      tabIndex={isTabStop ? 0 : -1}
      aria-current={isSelected ? "true" : undefined}
      onClick={() => onSelect(row.chat)}
    >
      <ChatAvatar row={row} />
      <span className="td-chat-row-main">
        <span className="td-chat-row-line">
          <span className="td-chat-row-name" dir="auto">
            {name}
          </span>
          {row.is_pinned && <Marker icon="pin" label={locale.text("pinned")} />}
          {row.is_muted && <Marker icon="bellOff" label={locale.text("muted")} />}
          {row.at != null && <RowTime at={row.at} />}
        </span>
        <span className="td-chat-row-line">
          <span className="td-chat-row-preview" dir="auto">
            <Preview row={row} />
          </span>
          {unread > 0 && (
            <span className="td-badge" data-muted={row.is_muted || undefined}>
              <span aria-hidden="true">{locale.badge(unread)}</span>
              <span className="td-hidden">{locale.text("unread", { count: unread })}</span>
            </span>
          )}
        </span>
      </span>
    </button>
  );
}

/** The avatar of a chat: of the other user with their presence, or of the group. */
export function ChatAvatar({ row }: { row: ChatRow }): ReactNode {
  const other = directUser(row);
  const presence = usePresence(other)?.status;
  const { users } = useSettings();
  const name = useChatNames()(row, row.chat);
  const Picture = useComponent("Avatar", Avatar);
  return (
    <Picture
      id={other ?? row.chat}
      name={name}
      imageUrl={other === undefined ? undefined : users(other)?.imageUrl}
      presence={presence === "online" ? "online" : presence === "away" ? "away" : undefined}
    />
  );
}

function Preview({ row }: { row: ChatRow }) {
  const { locale } = useSettings();
  const nameOf = useUserNames();
  if (row.state === "redacted") return locale.text("redacted");
  if (row.state === "expired") return locale.text("expired");
  if (row.state === "archived") return locale.text("archived");
  if (row.state === "erased") return locale.text("erased");
  if (!row.preview) return null;
  // In a direct chat the author of a message from the other user is clear.
  if (!row.by || row.by === directUser(row)) return row.preview;
  return locale.text("previewBy", { name: nameOf(row.by), text: row.preview });
}

function RowTime({ at }: { at: number }) {
  const { locale } = useSettings();
  const text = useTimeText((now) => locale.short(at, now));
  return (
    <time className="td-chat-row-time" dateTime={new Date(at).toISOString()}>
      {text}
    </time>
  );
}

function Marker({ icon, label }: { icon: "pin" | "bellOff"; label: string }) {
  return (
    <span className="td-chat-row-marker">
      <Icon name={icon} />
      <span className="td-hidden">{label}</span>
    </span>
  );
}
