import { type ReactNode, useEffect, useRef, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { IconButton } from "../parts/icon_button.tsx";

/** In the order of preference. Safari records MP4 only. */
const TYPES = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus"];

export interface VoiceRecorderProps {
  /** Called with the recording when the user stops it. */
  onRecorded: (recording: Blob, durationMs: number) => void;
}

/** A button that records a voice message until it is pressed again. */
export function VoiceRecorder({ onRecorded }: VoiceRecorderProps): ReactNode {
  const { locale } = useSettings();
  const { startedAt, hasFailed, start, stop } = useRecorder(onRecorded);
  if (typeof MediaRecorder === "undefined" || !navigator.mediaDevices) return null;
  return (
    <>
      {hasFailed && (
        <span className="td-recording" role="alert">
          {locale.text("noMicrophone")}
        </span>
      )}
      {startedAt !== undefined && <RecordingTime startedAt={startedAt} />}
      <IconButton
        icon={startedAt === undefined ? "microphone" : "stop"}
        label={locale.text(startedAt === undefined ? "recordVoice" : "stopRecording")}
        data-recording={startedAt === undefined ? undefined : ""}
        onClick={startedAt === undefined ? start : stop}
      />
    </>
  );
}

function RecordingTime({ startedAt }: { startedAt: number }) {
  const { locale } = useSettings();
  const [now, setNow] = useState(startedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 250);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="td-recording">
      <span className="td-recording-dot" aria-hidden="true" />
      <span className="td-hidden">{locale.text("recording")}</span>
      {locale.duration(now - startedAt)}
    </span>
  );
}

function useRecorder(onRecorded: VoiceRecorderProps["onRecorded"]) {
  const [startedAt, setStartedAt] = useState<number>();
  const [hasFailed, setHasFailed] = useState(false);
  const recorder = useRef<MediaRecorder>(undefined);
  const listener = useRef(onRecorded);
  listener.current = onRecorded;
  const isMounted = useRef(true);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
      const { current } = recorder;
      if (current) release(current);
    };
  }, []);
  const start = async () => {
    setHasFailed(false);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const type = TYPES.find((each) => MediaRecorder.isTypeSupported(each));
      const started = new MediaRecorder(stream, type ? { mimeType: type } : {});
      // Race: the user leaves the chat while the browser asks for the microphone.
      if (!isMounted.current) return release(started);
      const began = performance.now();
      const pieces: Blob[] = [];
      started.ondataavailable = ({ data }) => pieces.push(data);
      started.onstop = () => {
        release(started);
        if (!isMounted.current) return;
        setStartedAt(undefined);
        listener.current(new Blob(pieces, { type: started.mimeType }), Math.round(performance.now() - began));
      };
      recorder.current = started;
      started.start();
      setStartedAt(began);
    } catch {
      setHasFailed(true);
    }
  };
  return { startedAt, hasFailed, start: () => void start(), stop: () => recorder.current?.stop() };
}

/** Switch the microphone off. */
function release(recorder: MediaRecorder): void {
  for (const track of recorder.stream.getTracks()) track.stop();
}
