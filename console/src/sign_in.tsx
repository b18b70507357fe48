import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, signInWithKey } from "./api.ts";
import { ErrorView, Loading, Notice } from "./parts/states.tsx";

interface SignInWays {
  oidc: boolean;
  bootstrap_key: boolean;
  name?: string;
}

const ERRORS: Record<string, string> = {
  login_expired: "The sign-in took too long. Try again.",
  login_refused: "The provider refused the sign-in.",
  no_role: "Your account has no role in this console. Ask an owner for one.",
  provider_unavailable: "The provider does not answer. Try again later.",
};

export function SignIn(): ReactNode {
  const ways = useQuery({
    queryKey: ["sign-in"],
    queryFn: () => call<SignInWays>("GET", "/sign-in"),
  });
  const failed = new URLSearchParams(location.search).get("sign_in_error");
  const returnTo = failed ? "/" : location.pathname + location.search;
  return (
    <main className="sign-in">
      <h1>Tidings console</h1>
      {failed && <Notice kind="error">{ERRORS[failed] ?? `The sign-in failed: ${failed}.`}</Notice>}
      {ways.isPending && <Loading />}
      {ways.error && <ErrorView error={ways.error} onRetry={() => void ways.refetch()} />}
      {ways.data?.oidc && (
        <a className="button primary" href={`/admin/v1/login?return_to=${encodeURIComponent(returnTo)}`}>
          {ways.data.name ?? "Sign in"}
        </a>
      )}
      {ways.data?.bootstrap_key && <KeyForm />}
    </main>
  );
}

function KeyForm() {
  const queries = useQueryClient();
  const [key, setKey] = useState("");
  const signIn = useMutation({
    mutationFn: () => signInWithKey(key.trim()),
    onSuccess: (session) => queries.setQueryData(["session"], session),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <form onSubmit={submit}>
      <label>
        Bootstrap key
        <input
          type="password"
          autoComplete="off"
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </label>
      <p className="hint">
        <code>tidings dev</code> prints a link with this key. In production, the setting{" "}
        <code>console.bootstrap_key</code> has it.
      </p>
      {signIn.error && <Notice kind="error">{signIn.error.message}</Notice>}
      <button type="submit" className="primary" disabled={signIn.isPending}>
        Sign in with the key
      </button>
    </form>
  );
}
