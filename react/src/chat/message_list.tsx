import type { Chat } from "@tidings/client";
import { type ReactElement, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import { type MessagesState, useChat, useMessages } from "../hooks/chat.ts";
import { useLastChatRow } from "../hooks/chat_list.ts";
import { useSettings } from "../hooks/client.ts";
import { useChatNames } from "../hooks/user.ts";
import { EmptyState, ErrorState, LoadingState } from "../parts/states.tsx";
import { useComponent } from "../slots.tsx";
import { JumpToNewest } from "./jump_to_newest.tsx";
import { LogContext } from "./log_context.ts";
import { MessageRow, type MessageRowProps } from "./message_row.tsx";
import type { MessageTarget } from "./use_jump.ts";
import { type LogState, useLog } from "./use_log.ts";

/** Rows are measured this far outside of the view. A larger step of scrolling would meet estimated heights. */
const BUFFER_PX = 600;
/** Many times the number of rows in the page. */
const MAX_ELEMENTS = 1_000;

export interface MessageListProps {
  chat: string;
  /** Show this message. A new object shows it again. */
  target?: MessageTarget | undefined;
}

/**
 * The messages of a chat, virtualised in both directions.
 *
 * Loading older messages keeps the reading position. New messages scroll into view only if the user is at the
 * bottom; otherwise a button shows how many there are.
 */
export function MessageList({ chat: id, target }: MessageListProps): ReactNode {
  const messages = useMessages(id);
  const chat = useChat(id);
  // Race: effects of the rows run before the effect of `useMessages`, which loads the newest messages. It would drop the
  // load of the messages around the target. So the rows receive the target in the next render.
  const [shownTarget, setShownTarget] = useState<MessageTarget>();
  useEffect(() => setShownTarget(target), [target]);
  // A new chat starts with new state: position, focus and divider.
  return <LoadedMessageList key={id} chat={chat} messages={messages} target={shownTarget} />;
}

interface LoadedProps {
  chat: Chat;
  messages: MessagesState;
  target: MessageTarget | undefined;
}

function LoadedMessageList({ chat, messages, target }: LoadedProps) {
  const { range, loadNewest } = messages;
  const { locale } = useSettings();
  const Empty = useComponent("EmptyState", EmptyState);
  const Failed = useComponent("ErrorState", ErrorState);
  const Loading = useComponent("LoadingState", LoadingState);
  if (messages.keys.length > 0) return <Log chat={chat} messages={messages} target={target} />;
  const content = range.isLoaded ? (
    <Empty icon="chat" title={locale.text("noMessages")} hint={locale.text("noMessagesHint")} />
  ) : range.error ? (
    <Failed title={locale.text("loadFailed")} onRetry={() => void loadNewest().catch(() => {})} />
  ) : (
    <Loading shape="messages" />
  );
  return <div className="td-log-frame">{content}</div>;
}

function Log({ chat, messages, target }: LoadedProps) {
  const { locale } = useSettings();
  const name = useChatNames()(useLastChatRow(chat.id), chat.id);
  const log = useLog(chat, messages, target);
  const Jump = useComponent("JumpToNewest", JumpToNewest);
  return (
    <div className="td-log-frame">
      <OlderStatus messages={messages} />
      <div
        className="td-log"
        ref={log.scroller}
        role="log"
        // New messages are spoken by the announcer: a live region would also speak older messages that are loaded.
        aria-live="off"
        aria-label={locale.text("messages", { chat: name })}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the arrow keys enter the messages from here.
        tabIndex={0}
        onScroll={log.onScroll}
        {...log.focus.listeners}
      >
        <div className="td-log-space" />
        <LogRows chat={chat} log={log} hasOlder={messages.range.hasOlder} />
      </div>
      {(!log.isAtBottom || messages.range.hasNewer) && (
        <Jump count={log.newCount} onJump={log.onJumpToNewest} />
      )}
    </div>
  );
}

function LogRows({ chat, log, hasOlder }: { chat: Chat; log: LogState; hasOlder: boolean }) {
  const { shown, jump } = log;
  const rowElement = useRowElements();
  const actions = useMemo(() => ({ jumpTo: jump.jumpTo }), [jump.jumpTo]);
  return (
    <LogContext.Provider value={actions}>
      <Virtualizer
        key={shown.generation}
        ref={log.handle}
        data={shown.keys}
        shift={shown.shift}
        bufferSize={BUFFER_PX}
        scrollRef={log.scroller}
        keepMounted={log.keepMounted}
        onResize={log.onResize}
      >
        {(key, index) =>
          rowElement({
            chat,
            messageKey: key,
            previousKey: shown.keys[index - 1],
            isCut: index === 0 && hasOlder,
            isFirstUnread: key === log.firstUnread,
            isHighlighted: key === jump.highlighted,
          })
        }
      </Virtualizer>
    </LogContext.Provider>
  );
}

/**
 * Return a function that returns the same element for the same properties. With a new element, the virtual list would
 * render the container of every row in the page whenever a message is added.
 */
function useRowElements(): (props: MessageRowProps) => ReactElement {
  const elements = useRef(new Map<string, ReactElement<MessageRowProps>>());
  return useCallback((props) => {
    const known = elements.current.get(props.messageKey);
    const names = Object.keys(props) as (keyof MessageRowProps)[];
    if (known && names.every((name) => known.props[name] === props[name])) return known;
    if (elements.current.size >= MAX_ELEMENTS) elements.current.clear();
    const element = <MessageRow key={props.messageKey} {...props} />;
    elements.current.set(props.messageKey, element);
    return element;
  }, []);
}

/** The state at the start of the log: older messages are being loaded, or could not be. */
function OlderStatus({ messages }: { messages: MessagesState }) {
  const { locale } = useSettings();
  const { isLoading, hasOlder, error } = messages.range;
  if (error) {
    return (
      <div className="td-older">
        {locale.text("loadFailed")}
        <button type="button" className="td-link" onClick={() => void messages.loadOlder().catch(() => {})}>
          {locale.text("retry")}
        </button>
      </div>
    );
  }
  return isLoading && hasOlder ? <div className="td-older">{locale.text("loadingOlder")}</div> : null;
}
