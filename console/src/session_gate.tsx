import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext } from "react";
import { Problem, readSession, type Session, signInWithKey } from "./api.ts";
import { ErrorView, Loading } from "./parts/states.tsx";
import { SignIn } from "./sign_in.tsx";

const SessionContext = createContext<Session | undefined>(undefined);

/** Return the session of the operator. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("There is no session above this component.");
  return session;
}

/** Return whether the operator may call an operation. */
export function useMay(operation: string): boolean {
  return useSession().permissions.includes(operation);
}

/** Show the console to an operator who is signed in, and the sign-in page to a visitor without a session. */
export function SessionGate({ children }: { children: ReactNode }): ReactNode {
  const { data, error, isPending, refetch } = useQuery({ queryKey: ["session"], queryFn: findSession });
  if (isPending) return <Loading />;
  if (error) return <ErrorView error={error} onRetry={() => void refetch()} />;
  if (!data) return <SignIn />;
  return <SessionContext.Provider value={data}>{children}</SessionContext.Provider>;
}

/** Return the session, signing in with the key of the address if it has one, or null without a session. */
async function findSession(): Promise<Session | null> {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  try {
    if (!key) return await readSession();
    history.replaceState(null, "", location.pathname + location.search);
    return await signInWithKey(key);
  } catch (error) {
    if (error instanceof Problem && error.isSignedOut) return null;
    throw error;
  }
}
