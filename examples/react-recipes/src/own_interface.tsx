import {
  TidingsProvider,
  useChatList,
  useComposer,
  useMessage,
  useMessages,
  useUnreadCount,
} from "@tidings/react";
import { memo } from "react";
import type { Connection } from "./connection.ts";

const Row = memo(function Row({ chat, id }: { chat: string; id: string }) {
  const message = useMessage(chat, id);
  return (
    <li>
      {message?.by}: {message?.text}
    </li>
  );
});

function Messages({ chat }: { chat: string }) {
  const { keys, range, loadOlder } = useMessages(chat);
  const { text, setText, send } = useComposer(chat);
  return (
    <section>
      {range.hasOlder && (
        <button type="button" onClick={() => loadOlder()}>
          Earlier messages
        </button>
      )}
      <ol>
        {keys.map((key) => (
          <Row key={key} chat={chat} id={key} />
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <label>
          Message <input value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <button type="submit">Send</button>
      </form>
    </section>
  );
}

function Newest() {
  const { rows, isLoaded } = useChatList();
  const unread = useUnreadCount();
  const newest = rows[0];
  if (!newest) return <p>{isLoaded ? "No chats" : "Loading"}</p>;
  return (
    <>
      <h2>{unread} unread</h2>
      <Messages chat={newest.chat} />
    </>
  );
}

export function OwnInterface(connection: Connection) {
  return (
    <TidingsProvider {...connection}>
      <Newest />
    </TidingsProvider>
  );
}
