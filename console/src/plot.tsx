import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clockTime } from "./format.ts";

export interface Series { label: string; style: "today" | "yesterday" | "week"; values: (number | null)[] }

interface PlotProps {
  title: string;
  /** Unix seconds of each value. */
  times: number[];
  series: Series[];
  write: (value: number) => string;
}

const HEIGHT = 190;
/** Short, beside the plot: `50K`. */
const short = new Intl.NumberFormat("en", { notation: "compact" });

/** Lines over the hours of a day. The same numbers are in a table for screen readers. */
export function Plot({ title, times, series, write }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const [cursor, setCursor] = useState<number | null>(null);
  const isDark = useDark();
  const data: uPlot.AlignedData = [times, ...series.map(({ values }) => values)];
  const shape = series.map(({ style }) => style).join();
  useEffect(() => {
    const root = place.current;
    if (!root) return;
    const made = new uPlot(options(root, shape.split(","), setCursor), data, root);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: root.clientWidth, height: HEIGHT }));
    observer.observe(root);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape, isDark]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);
  return (
    <>
      <div class="legend">{series.map(({ label, style }) => <span key={style} class={style}>{label}</span>)}</div>
      <div class="plot" ref={place} aria-hidden="true" />
      <p class="readout" aria-hidden="true">
        {cursor !== null &&
          times[cursor] !== undefined &&
          `${clockTime(times[cursor]).slice(0, 5)} · ${series.map(({ label, values }) => `${label} ${values[cursor] == null ? "–" : write(values[cursor])}`).join(" · ")}`}
      </p>
      <table class="hidden">
        <caption>{title}</caption>
        <thead><tr><th scope="col">Time</th>{series.map(({ label }) => <th key={label} scope="col">{label}</th>)}</tr></thead>
        <tbody>
          {times.map((time, at) => (
            <tr key={time}>
              <th scope="row">{clockTime(time).slice(0, 5)}</th>
              {series.map(({ label, values }) => <td key={label}>{values[at] == null ? "" : write(values[at])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function options(root: HTMLElement, styles: string[], point: (at: number | null) => void): uPlot.Options {
  const colours = getComputedStyle(document.documentElement);
  const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim();
  const [muted, line, accent, grey] = [colour("muted"), colour("line"), colour("accent"), colour("field-line")];
  const font = "11px system-ui, sans-serif";
  const look: Record<string, Partial<uPlot.Series>> = {
    today: { stroke: accent, width: 2, fill: `${accent}1c` },
    yesterday: { stroke: grey, width: 1.25 },
    week: { stroke: grey, width: 1.25, dash: [4, 4] },
  };
  return {
    width: root.clientWidth,
    height: HEIGHT,
    padding: [10, 6, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      { stroke: muted, font, grid: { show: false }, ticks: { show: false }, size: 26, space: 60, values: (_, times) => times.map((time) => clockTime(time).slice(0, 5)) },
      { stroke: muted, font, size: 48, gap: 6, grid: { stroke: line, width: 1 }, ticks: { show: false }, space: 44, values: (_, values) => values.map((value) => (Number.isInteger(value) ? short.format(value) : "")) },
    ],
    series: [{}, ...styles.map((style) => ({ points: { show: style === "today", size: 5 }, spanGaps: false, ...look[style] }))],
    hooks: { setCursor: [({ cursor }) => point(cursor.idx ?? null)] },
  };
}

/** Whether colours are dark: a canvas does not follow the style sheet. */
function useDark(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const change = () => setDark(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return dark;
}
