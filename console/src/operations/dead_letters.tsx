import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { PagedList, QueryView, usePages } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { DeadLetter, DeadLetterContent, DeadLetterList, DeadLetterTopic } from "./model.ts";

const FIRST_TOPIC = "messages-dead";
const ACTIONS = {
  replay: {
    button: "Replay",
    title: "Replay this record?",
    text: "It is published again to the topic that it came from. If a worker still cannot decode it, a new dead letter appears.",
    action: "Replay",
  },
  drop: {
    button: "Drop",
    title: "Drop this record?",
    text: "It disappears from the list and is never processed. Kafka deletes it when its retention ends.",
    action: "Drop",
  },
} as const;

export const useDeadLetterTopics = () =>
  useQuery({
    queryKey: ["dead letter topics"],
    queryFn: () => call<{ topics: DeadLetterTopic[] }>("GET", "/dead-letters"),
  });

export function DeadLettersPage(): ReactNode {
  const { topic = FIRST_TOPIC } = useSearch({ from: "/dead-letters" });
  return (
    <>
      <h1>Dead letters</h1>
      <p>
        Records that a worker could not decode, and push notifications that a provider refused. Repair the
        cause, then replay them.
      </p>
      <TopicChoice topic={topic} />
      <Letters topic={topic} />
    </>
  );
}

function TopicChoice({ topic }: { topic: string }) {
  const navigate = useNavigate();
  const query = useDeadLetterTopics();
  return (
    <QueryView query={query}>
      {({ topics }) => (
        <label>
          Topic
          <select
            value={topic}
            onChange={(event) =>
              void navigate({ to: "/dead-letters", search: { topic: event.target.value } })
            }
          >
            {topics.map((each) => (
              <option key={each.topic} value={each.topic}>
                {each.topic}, {each.waiting} waiting
              </option>
            ))}
          </select>
        </label>
      )}
    </QueryView>
  );
}

function Letters({ topic }: { topic: string }) {
  const letters = usePages<DeadLetterList>(["dead letters", topic], path`/dead-letters/${topic}`);
  return (
    <PagedList
      query={letters}
      items={(page) => page.letters}
      empty={{
        title: "No record waits here",
        hint: "Workers decoded every record of this topic, or an operator handled it.",
      }}
    >
      {(found) => (
        <DataTable
          caption="Dead letters"
          items={found}
          keyOf={nameOf}
          columns={[
            { title: "Record", cell: (letter) => <LetterLink letter={letter} /> },
            { title: "Since", cell: ({ dead_since }) => <Time at={dead_since} /> },
            { title: "Reason", cell: ({ reason }) => reason },
            { title: "Key", cell: ({ key }) => key && <code>{key}</code> },
            { title: "Bytes", cell: ({ bytes }) => bytes.toLocaleString() },
          ]}
        />
      )}
    </PagedList>
  );
}

function LetterLink({ letter }: { letter: DeadLetter }) {
  const { topic, partition, offset } = letter;
  return (
    <Link
      to="/dead-letters/$topic/$partition/$offset"
      params={{ topic, partition: String(partition), offset: String(offset) }}
    >
      {nameOf(letter)}
    </Link>
  );
}

function nameOf({ partition, offset }: DeadLetter): string {
  return `${partition}/${offset}`;
}

export function DeadLetterPage(): ReactNode {
  const { topic, partition, offset } = useParams({ from: "/dead-letters/$topic/$partition/$offset" });
  const url = path`/dead-letters/${topic}/${partition}/${offset}`;
  const query = useQuery({ queryKey: ["dead letter", url], queryFn: () => call<DeadLetter>("GET", url) });
  return (
    <>
      <h1>
        Dead letter {topic}/{partition}/{offset}
      </h1>
      <Link to="/dead-letters" search={{ topic }}>
        All dead letters of {topic}
      </Link>
      <QueryView query={query}>
        {(letter) => (
          <>
            <Notice kind={letter.state === "waiting" ? "error" : "info"}>
              {letter.state === "waiting" ? (
                letter.reason
              ) : (
                <span>
                  {letter.state === "replayed" ? "Replayed" : "Dropped"} <Time at={letter.handled_at} />
                </span>
              )}
            </Notice>
            <Facts
              facts={{
                Since: <Time at={letter.dead_since} />,
                Reason: letter.reason,
                "Position in its topic": <code>{letter.source}</code>,
                Key: letter.key && <code>{letter.key}</code>,
                Bytes: letter.bytes.toLocaleString(),
                Headers: letter.headers.join(", "),
              }}
            />
            {letter.state === "waiting" && <LetterActions url={url} />}
            <Content url={url} />
          </>
        )}
      </QueryView>
    </>
  );
}

function LetterActions({ url }: { url: string }) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const isAllowed = useMay("replay_dead_letter");
  const change = useMutation({
    mutationFn: ({ action, reason }: { action: string; reason: string }) =>
      call("POST", `${url}/${action}`, { reason }),
    onSettled: () =>
      Promise.all(
        [["dead letter", url], ["dead letters"], ["dead letter topics"]].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      ),
  });
  if (!isAllowed) return null;
  const start = async (action: keyof typeof ACTIONS) => {
    const reason = await askReason(ACTIONS[action]);
    if (reason) change.mutate({ action, reason });
  };
  return (
    <>
      <div className="pager">
        {(["replay", "drop"] as const).map((action) => (
          <button key={action} type="button" disabled={change.isPending} onClick={() => void start(action)}>
            {ACTIONS[action].button}
          </button>
        ))}
      </div>
      {change.error && <ErrorView error={change.error} />}
    </>
  );
}

function Content({ url }: { url: string }) {
  const askReason = useAskReason();
  const isAllowed = useMay("read_dead_letter");
  const read = useMutation({
    mutationFn: (reason: string) => call<DeadLetterContent>("POST", `${url}/content`, { reason }),
  });
  const start = async () => {
    const reason = await askReason({
      title: "Read the content?",
      text: "A record can contain messages of users.",
      action: "Read the content",
    });
    if (reason) read.mutate(reason);
  };
  if (!isAllowed) return null;
  return (
    <section aria-labelledby="content-of-letter">
      <h2 id="content-of-letter">Content</h2>
      {read.error && <ErrorView error={read.error} />}
      {read.data ? (
        <>
          <p className="hint">
            {read.data.encoding === "text" ? "Text" : "Bytes in base64"}
            {!read.data.is_complete && ", the first 16 KiB"}
          </p>
          <pre className="raw">{read.data.content}</pre>
        </>
      ) : (
        <button type="button" disabled={read.isPending} onClick={() => void start()}>
          Read
        </button>
      )}
    </section>
  );
}
