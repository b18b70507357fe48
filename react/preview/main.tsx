import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { TidingsProvider } from "../src/index.ts";
import { ar, de, en } from "../src/locales/index.ts";
import "../src/styles/index.css";
import { texts } from "./fixture_texts.ts";
import { fixtureClient } from "./fixtures.ts";
import "./preview.css";
import { screens } from "./screens.tsx";

const locales = { en, de, ar };
const parameters = new URLSearchParams(location.search);

function Choice(props: {
  name: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  return (
    <label>
      {props.name}{" "}
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {props.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function Preview() {
  const [screen, setScreen] = useState(parameters.get("screen") ?? "chat");
  const [theme, setTheme] = useState(parameters.get("theme") ?? "light");
  const [language, setLanguage] = useState(parameters.get("language") ?? "en");
  document.body.dataset.theme = theme;
  const { names } = texts(language);
  const client = useMemo(() => {
    const fixture = fixtureClient(language);
    screens[screen]?.prepare?.(fixture);
    return fixture;
  }, [screen, language]);
  const users = useMemo(() => (id: string) => ({ name: names[id] }), [names]);
  Object.assign(window, { preview: client });
  return (
    <div className="preview">
      {!parameters.has("bare") && (
        <div className="preview-bar">
          <Choice name="Screen" value={screen} options={Object.keys(screens)} onChange={setScreen} />
          <Choice name="Theme" value={theme} options={["light", "dark"]} onChange={setTheme} />
          <Choice name="Language" value={language} options={Object.keys(locales)} onChange={setLanguage} />
        </div>
      )}
      <div className="preview-stage">
        <TidingsProvider
          key={`${screen} ${language}`}
          client={client.asClient}
          locale={locales[language as keyof typeof locales]}
          theme={theme === "dark" ? "dark" : "light"}
          users={users}
        >
          {screens[screen]?.render(language)}
        </TidingsProvider>
      </div>
    </div>
  );
}

const root = document.getElementById("app");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Preview />
    </StrictMode>,
  );
}
