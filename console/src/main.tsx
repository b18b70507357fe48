import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api.ts";
import { ReasonProvider } from "./parts/reason_dialog.tsx";
import { router } from "./router.tsx";
import { SessionGate } from "./session_gate.tsx";
import "./console.css";

/** Requests that the API refused are not repeated: the answer would be the same. */
const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      const isSignedOut = error instanceof Problem && error.isSignedOut && query.queryKey[0] !== "session";
      if (isSignedOut) queries.setQueryData(["session"], null);
    },
  }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && !(error instanceof Problem && error.status < 500),
      staleTime: 5_000,
      refetchOnWindowFocus: false,
    },
  },
});

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <ReasonProvider>
          <RouterProvider router={router} />
        </ReasonProvider>
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
