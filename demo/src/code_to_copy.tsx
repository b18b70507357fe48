import { type ReactNode, useState } from "react";
import chatExample from "../../examples/react-chat/src/main.tsx?raw";
import inboxExample from "../../examples/react-inbox/src/main.tsx?raw";
import nodeServer from "../../examples/token-server/token_server.ts?raw";
import type { Session } from "./session.ts";

interface Snippet {
  title: string;
  text: string;
  code: (session: Session) => string;
}

/** The examples of the repository, which its tests compile and run, with the addresses of this installation. */
const SNIPPETS: Snippet[] = [
  {
    title: "Chat in React",
    text: "The whole chat of this page. The token comes from your server.",
    code: ({ gateway }) => withGateway(chatExample, gateway),
  },
  {
    title: "Inbox in React",
    text: "The bell with the notifications of the user.",
    code: ({ gateway }) => withGateway(inboxExample, gateway),
  },
  {
    title: "Tokens in Node",
    text: "Your server signs a token for the user who is logged in. `tidings tenant key new dev > dev-key.json` creates the key.",
    code: () => nodeServer,
  },
  {
    title: "Send with curl",
    text: "Run it in the directory of `tidings dev`. The message appears above.",
    code: ({ api, chats }) =>
      [
        `curl -H @.tidings/dev/anna.header ${api}/v1/chats/${chats.direct}/messages \\`,
        `  -H "Idempotency-Key: hello-1" --json '{"text": "Hello from curl"}'`,
      ].join("\n"),
  },
];

export function CodeToCopy({ session }: { session: Session }): ReactNode {
  const [open, setOpen] = useState(0);
  const { text, code } = SNIPPETS[open] as Snippet;
  return (
    <section className="code" aria-labelledby="code-title">
      <h2 id="code-title">Add it to your app</h2>
      <fieldset className="tabs" aria-label="Examples">
        {SNIPPETS.map(({ title }, index) => (
          <button key={title} type="button" aria-pressed={index === open} onClick={() => setOpen(index)}>
            {title}
          </button>
        ))}
      </fieldset>
      <CodeBlock key={open} about={text} code={code(session)} />
    </section>
  );
}

function CodeBlock({ about, code }: { about: string; code: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(code).then(() => setIsCopied(true));
  return (
    <>
      <div className="code-about">
        <p>{withCode(about)}</p>
        <button type="button" onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>
        <code>{code.trim()}</code>
      </pre>
    </>
  );
}

function withGateway(example: string, gateway: string): string {
  return example.replace("ws://127.0.0.1:8081/v1/socket", gateway);
}

function withCode(text: string): ReactNode {
  return text.split("`").map((part, index) => (index % 2 ? <code key={part}>{part}</code> : part));
}
