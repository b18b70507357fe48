import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { useMay } from "../session_gate.tsx";
import type { ContentRules, ListedTerm, TermAction } from "./model.ts";

const ACTIONS: Record<TermAction, string> = {
  mask: "Mask with *",
  refuse: "Refuse the message",
  flag: "Send and flag for review",
};
const DOMAIN = "[a-z0-9\\-]+(\\.[a-z0-9\\-]+){1,5}";

/** The words and domains that messages of a tenant must not contain. */
export function ListsPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/moderation/lists" });
  const url = path`/tenants/${tenant}/content-rules`;
  const query = useQuery({
    queryKey: ["content rules", url],
    queryFn: () => call<ContentRules>("GET", url),
    refetchOnWindowFocus: false,
  });
  return (
    <>
      <p>
        <Link to="/t/$tenant/moderation" params={{ tenant }}>
          Moderation
        </Link>
      </p>
      <h1>Words and domains</h1>
      <p>
        Whole words are compared, without case and accents. A domain includes its subdomains. Processes use a
        change within 30 seconds.
      </p>
      <QueryView query={query}>
        {(rules) => <ListsForm key={query.dataUpdatedAt} url={url} stored={rules} />}
      </QueryView>
    </>
  );
}

function ListsForm({ url, stored }: { url: string; stored: ContentRules }) {
  const [rules, setRules] = useState(stored);
  const mayChange = useMay("set_content_rules");
  const askReason = useAskReason();
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: (reason: string) => call<ContentRules>("PUT", url, { body: rules, reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["content rules", url] }),
  });
  const isChanged = JSON.stringify(rules) !== JSON.stringify(stored);
  const submit = async () => {
    const question = {
      title: "Change the lists?",
      text: "The lists apply to every new message and edit of this tenant.",
      action: "Save",
    };
    const reason = await askReason(question);
    if (reason) save.mutate(reason);
  };
  return (
    <>
      <TermList
        title="Words"
        terms={rules.words}
        isEditable={mayChange}
        onChange={(words) => setRules({ ...rules, words })}
      />
      <TermList
        title="Domains"
        pattern={DOMAIN}
        terms={rules.domains}
        isEditable={mayChange}
        onChange={(domains) => setRules({ ...rules, domains })}
      />
      {isChanged && <Notice kind="info">Your changes are not saved yet.</Notice>}
      {save.error && <ErrorView error={save.error} />}
      {mayChange && (
        <button
          type="button"
          className="primary"
          disabled={!isChanged || save.isPending}
          onClick={() => void submit()}
        >
          Save …
        </button>
      )}
    </>
  );
}

interface TermListProps {
  title: "Words" | "Domains";
  terms: ListedTerm[];
  isEditable: boolean;
  pattern?: string;
  onChange: (terms: ListedTerm[]) => void;
}

function TermList({ title, terms, isEditable, pattern, onChange }: TermListProps) {
  const one = title === "Words" ? "word" : "domain";
  return (
    <section aria-labelledby={title}>
      <h2 id={title}>{title}</h2>
      {terms.length === 0 && <p className="hint">The list is empty.</p>}
      <ul className="terms">
        {terms.map((term) => (
          <li key={term.text}>
            <code>{term.text}</code>
            <select
              aria-label={`What happens to ${term.text}`}
              disabled={!isEditable}
              value={term.action}
              onChange={(event) =>
                onChange(
                  terms.map((each) =>
                    each === term ? { ...each, action: event.target.value as TermAction } : each,
                  ),
                )
              }
            >
              <ActionOptions />
            </select>
            {isEditable && (
              <button
                type="button"
                aria-label={`Remove ${term.text}`}
                onClick={() => onChange(terms.filter((each) => each !== term))}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
      {isEditable && <NewTerm one={one} pattern={pattern} terms={terms} onChange={onChange} />}
    </section>
  );
}

interface NewTermProps {
  one: string;
  pattern: string | undefined;
  terms: ListedTerm[];
  onChange: (terms: ListedTerm[]) => void;
}

function NewTerm({ one, pattern, terms, onChange }: NewTermProps) {
  const [text, setText] = useState("");
  const [action, setAction] = useState<TermAction>("mask");
  const add = (event: FormEvent) => {
    event.preventDefault();
    const given = text.trim();
    if (given) onChange([...terms.filter((each) => each.text !== given), { text: given, action }]);
    setText("");
  };
  return (
    <form className="search" onSubmit={add}>
      <label>
        New {one}
        <input
          required
          maxLength={40}
          {...(pattern ? { pattern, title: "For example bad.example" } : {})}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label>
        Effect of the {one}
        <select value={action} onChange={(event) => setAction(event.target.value as TermAction)}>
          <ActionOptions />
        </select>
      </label>
      <button type="submit">Add the {one}</button>
    </form>
  );
}

function ActionOptions() {
  return Object.entries(ACTIONS).map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));
}
