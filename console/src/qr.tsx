import { correction, generate } from "lean-qr";

/** Modules of white around a code, so that cameras find it. */
const MARGIN = 4;

function codeOf(text: string): { size: number; path: string } {
  const code = generate(text, { minCorrectionLevel: correction.M });
  let path = "";
  for (let y = 0; y < code.size; y++)
    for (let x = 0; x < code.size; x++) {
      if (!code.get(x, y) || code.get(x - 1, y)) continue;
      let end = x + 1;
      while (code.get(end, y)) end++;
      path += `M${x + MARGIN} ${y + MARGIN}h${end - x}v1h${x - end}z`;
    }
  return { size: code.size + 2 * MARGIN, path };
}

/** A QR code, black on white in either scheme. */
export function Qr({ text, label }: { text: string; label: string }) {
  const { size, path } = codeOf(text);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** The same as a file, to print. */
export function svgOf(text: string): string {
  const { size, path } = codeOf(text);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size * 8}" height="${size * 8}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}"/></svg>\n`;
}
