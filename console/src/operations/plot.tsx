import { type ReactNode, useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { MetricName, Series } from "./model.ts";

const HEIGHT = 180;
/** Colours with a contrast of at least 3:1 on the background of both themes. */
const COLOURS = ["#5b6be0", "#c2571a", "#2f8f5b", "#b03a78", "#8a6d1c", "#3c8aa8"];

/** One plot of a metric, with a line for each set of labels. */
export function Plot({ metric, series: all }: { metric: MetricName; series: Series[] }): ReactNode {
  const series = useMemo(() => largest(all), [all]);
  const parent = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = parent.current;
    if (!element) return;
    let plot: uPlot | undefined;
    let waiting = 0;
    const resizes = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    const draw = () => {
      plot = new uPlot(optionsOf(series, element.clientWidth), dataOf(series), element);
      resizes.observe(element);
    };
    // Many plots are below the visible part of the page. Each is drawn when it comes into view and the browser is idle.
    const views = new IntersectionObserver((entries) => {
      if (waiting || !entries.some(({ isIntersecting }) => isIntersecting)) return;
      waiting = requestIdleCallback(draw, { timeout: 500 });
    });
    views.observe(element);
    return () => {
      cancelIdleCallback(waiting);
      views.disconnect();
      resizes.disconnect();
      plot?.destroy();
    };
  }, [series]);
  const latest = series.map((each) => `${labelOf(each)} ${format(each.points.at(-1)?.[1])}`).join(", ");
  return (
    <figure className="plot">
      <figcaption>
        {metric.help} {metric.kind === "rate" && "Per second."}
        <code>{metric.name}</code>
      </figcaption>
      <div ref={parent} className="canvas" role="img" aria-label={`${metric.help} Latest: ${latest}`} />
    </figure>
  );
}

/**
 * Return the series with the largest values, and the sum of the others as one series.
 *
 * Requests have a series for each route and status. A reader cannot distinguish more lines than there are colours.
 */
function largest(series: Series[]): Series[] {
  if (series.length <= COLOURS.length) return series;
  const peak = ({ points }: Series) => Math.max(...points.map(([, value]) => value), 0);
  const sorted = series.toSorted((one, other) => peak(other) - peak(one));
  const kept = sorted.slice(0, COLOURS.length - 1);
  const sums = new Map<number, number>();
  const others = sorted.slice(kept.length);
  for (const { points } of others)
    for (const [at, value] of points) sums.set(at, (sums.get(at) ?? 0) + value);
  const name = series[0]?.name ?? "";
  return [
    ...kept,
    { name, labels: { others: `${others.length} others` }, points: [...sums].sort(([a], [b]) => a - b) },
  ];
}

function optionsOf(series: Series[], width: number): uPlot.Options {
  const colour = getComputedStyle(document.documentElement).color;
  const axis = { stroke: colour, grid: { stroke: `color-mix(in srgb, ${colour} 15%, transparent)` } };
  return {
    width,
    height: HEIGHT,
    axes: [{ ...axis, values: (_, times) => times.map(timeOf) }, axis],
    legend: { live: false },
    series: [
      {},
      ...series.map((each, index) => ({
        label: labelOf(each),
        stroke: COLOURS[index % COLOURS.length] ?? "",
      })),
    ],
  };
}

/** Return the times of all series, and their values at these times. */
function dataOf(series: Series[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  return [
    times,
    ...series.map(({ points }) => {
      const values = new Map(points);
      return times.map((at) => values.get(at) ?? null);
    }),
  ];
}

function timeOf(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

function labelOf({ labels }: Series): string {
  return Object.values(labels).join(" ") || "all";
}

function format(value: number | undefined): string {
  return value === undefined ? "none" : value.toPrecision(3);
}
