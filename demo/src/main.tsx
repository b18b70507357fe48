import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@tidings/react/styles.css";
import { Page } from "./page.tsx";
import "./page.css";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
