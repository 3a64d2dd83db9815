// Colours of classes, the same ten as in the report, then hues around the circle.
const LIGHT = ["#1f61e5", "#ac5f01", "#1db893", "#aa335b", "#3923b4", "#bc9b26", "#743108", "#39a9e6", "#721970", "#7678ac"];
const DARK = ["#90a2fc", "#f4a957", "#71feb7", "#dd3172", "#9763f6", "#f3e323", "#e76300", "#74ddfb", "#d095b3", "#737cb0"];

export const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export function colourOf(number) {
  const some = dark() ? DARK : LIGHT;
  if (number < some.length) return some[number];
  return hex((0.6 + number * 0.381966) % 1, dark() ? [0.72, 0.58, 0.82][number % 3] : [0.33, 0.45, 0.55][number % 3]);
}

function hex(hue, lightness) {
  const chroma = 0.65 * (1 - Math.abs(2 * lightness - 1));
  const part = (offset) => {
    const k = (offset + hue * 12) % 12;
    const value = lightness - (chroma / 2) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return "#" + part(0) + part(8) + part(4);
}

export function rgb(colour) {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
}
