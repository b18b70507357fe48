import type { StoredUpload, Upload } from "@tidings/client";
import { type ReactNode, useEffect, useState } from "react";
import { useAttachments } from "../hooks/attachments.ts";
import { useSettings } from "../hooks/client.ts";
import type { Composer } from "../hooks/composer.ts";
import { useObservable } from "../hooks/observable.ts";
import { useBlobUrl } from "../parts/blob_url.ts";
import { Icon } from "../parts/icon.tsx";
import { IconButton } from "../parts/icon_button.tsx";

const MAX_ALT = 200;

/** The files of the message that is being written, with their progress. */
export function DraftAttachments({ composer }: { composer: Composer }): ReactNode {
  const { locale } = useSettings();
  if (composer.uploads.length === 0) return null;
  return (
    <ul className="td-drafts" aria-label={locale.text("attached")}>
      {composer.uploads.map((upload) => (
        <DraftAttachment
          key={`${upload.info.name} ${upload.file.size} ${composer.uploads.indexOf(upload)}`}
          upload={upload}
          onRemove={() => composer.detach(upload)}
        />
      ))}
    </ul>
  );
}

function DraftAttachment({ upload, onRemove }: { upload: Upload; onRemove: () => void }) {
  const { locale } = useSettings();
  const { name, type, size } = upload.info;
  const { state, sentBytes, error } = useObservable(upload.progress);
  const percent = locale.percent(Math.floor((100 * sentBytes) / Math.max(1, size)) / 100);
  const texts = {
    preparing: locale.text("preparing"),
    uploading: locale.text("uploading", { percent }),
    paused: locale.text("paused", { percent }),
    uploaded: locale.fileSize(size),
    failed: error?.message ?? locale.text("uploadFailed"),
    cancelled: "",
  };
  return (
    <li className="td-draft" data-state={state}>
      <DraftPreview upload={upload} />
      <div className="td-draft-main">
        <span className="td-draft-name" dir="auto">
          {name}
        </span>
        {(state === "uploading" || state === "paused") && (
          <progress aria-label={name} max={size} value={sentBytes} />
        )}
        <span className="td-draft-state">{texts[state]}</span>
        {type.startsWith("image/") && <AltText upload={upload} />}
      </div>
      {(state === "uploading" || state === "preparing") && (
        <IconButton
          icon="pause"
          label={locale.text("pauseUpload", { name })}
          onClick={() => upload.pause()}
        />
      )}
      {(state === "paused" || state === "failed") && (
        <IconButton
          icon="play"
          label={locale.text("resumeUpload", { name })}
          onClick={() => upload.resume()}
        />
      )}
      <IconButton icon="close" label={locale.text("removeFile", { name })} onClick={onRemove} />
    </li>
  );
}

function DraftPreview({ upload }: { upload: Upload }) {
  const { type, name } = upload.info;
  const url = useBlobUrl(/^(image|audio)\//.test(type) ? upload.file : undefined);
  // biome-ignore lint/a11y/useMediaCaption: the sender listens to their own recording.
  if (type.startsWith("audio/")) return <audio className="td-audio" controls src={url} aria-label={name} />;
  if (type.startsWith("image/")) return <img className="td-draft-image" src={url} alt="" />;
  return <Icon name="file" />;
}

function AltText({ upload }: { upload: Upload }) {
  const { locale } = useSettings();
  const [alt, setAlt] = useState(upload.info.alt ?? "");
  const change = (text: string) => {
    setAlt(text);
    upload.describe({ alt: text.trim() });
  };
  return (
    <label className="td-draft-alt">
      <span className="td-hidden">{locale.text("altText")}</span>
      <input
        type="text"
        dir="auto"
        maxLength={MAX_ALT}
        placeholder={`${locale.text("altText")}. ${locale.text("altTextHint")}.`}
        value={alt}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          // Enter would send a message whose description is not finished.
          if (event.key === "Enter") event.preventDefault();
        }}
      />
    </label>
  );
}

/** Uploads that a reload has interrupted. A page cannot keep a file, so the user chooses it again. */
export function UnfinishedUploads({ chat, onChoose }: { chat: string; onChoose: () => void }): ReactNode {
  const { locale } = useSettings();
  const attachments = useAttachments();
  const [unfinished, setUnfinished] = useState<readonly StoredUpload[]>([]);
  useEffect(() => {
    void attachments?.unfinished(chat).then(setUnfinished);
  }, [attachments, chat]);
  const forget = ({ id }: StoredUpload) => {
    setUnfinished((before) => before.filter((each) => each.id !== id));
    void attachments?.discard(id);
  };
  return unfinished.map((upload) => (
    <div key={upload.id} className="td-draft" data-state="interrupted">
      <Icon name="file" />
      <p className="td-draft-main">{locale.text("chooseAgain", { name: upload.name })}</p>
      <button
        type="button"
        className="td-link"
        onClick={() => {
          setUnfinished((before) => before.filter((each) => each !== upload));
          onChoose();
        }}
      >
        {locale.text("chooseFile")}
      </button>
      <IconButton
        icon="close"
        label={locale.text("removeFile", { name: upload.name })}
        onClick={() => forget(upload)}
      />
    </div>
  ));
}
