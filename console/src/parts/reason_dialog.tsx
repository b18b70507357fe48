import {
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
} from "react";

interface Question {
  /** The question, as the title of the dialog. */
  title: string;
  /** What happens when the operator confirms. */
  text: string;
  /** The text of the button. */
  action: string;
  /** The text that the operator types to confirm an action that cannot be undone. */
  typed?: string;
}

type AskReason = (question: Question) => Promise<string | undefined>;

const ReasonContext = createContext<AskReason>(() => Promise.resolve(undefined));
const SHORTEST = 3;

/** Return a function that asks for a reason. It resolves to `undefined` if the operator cancels. */
export const useAskReason = () => useContext(ReasonContext);

export function ReasonProvider({ children }: { children: ReactNode }): ReactNode {
  const [open, setOpen] = useState<{ question: Question; answer: (reason?: string) => void }>();
  const ask: AskReason = (question) =>
    new Promise((resolve) => {
      const answer = (reason?: string) => {
        setOpen(undefined);
        resolve(reason);
      };
      setOpen({ question, answer });
    });
  return (
    <ReasonContext.Provider value={ask}>
      {children}
      {open && <ReasonDialog question={open.question} onAnswer={open.answer} />}
    </ReasonContext.Provider>
  );
}

function ReasonDialog({ question, onAnswer }: { question: Question; onAnswer: (reason?: string) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const isComplete = reason.trim().length >= SHORTEST && typed === (question.typed ?? "");
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAnswer(reason.trim());
  };
  return (
    <dialog ref={dialog} aria-labelledby="reason-title" onCancel={() => onAnswer()}>
      <form onSubmit={submit}>
        <h2 id="reason-title">{question.title}</h2>
        <p>{question.text}</p>
        {question.typed !== undefined && (
          <label>
            Type {question.typed} to confirm
            <input
              required
              autoComplete="off"
              spellCheck={false}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
        )}
        <label>
          Reason
          <textarea
            required
            minLength={SHORTEST}
            maxLength={500}
            rows={3}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        <p className="hint">The audit log keeps your name and this reason.</p>
        <div className="actions">
          <button type="button" onClick={() => onAnswer()}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!isComplete}>
            {question.action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
