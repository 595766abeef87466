// Elements of the page. Data enters only as text or as an attribute's value, never as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    // (a style, because the classes' fills override the attribute)
    if (name === 'fill')
      element.style.fill = value;
    else if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else
      element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of [children ?? []].flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return element;
}

const html = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);

const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

const round = (x) => Math.round(x * 100) / 100;

const rect = (x, y, width, height, attributes) => svg('rect', {
  x: round(x),
  y: round(y),
  width: round(Math.max(0, width)),
  height: round(Math.max(0, height)),
  ...attributes
});

const line = (x1, y1, x2, y2, attributes) =>
    svg('line', {x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), ...attributes});

const label = (x, y, text, attributes) =>
    svg('text', {x: round(x), y: round(y), ...attributes}, text);

// The width of a text in pixels, to place labels without overlap.
const textWidth = (() => {
  const context = document.createElement('canvas').getContext('2d');
  const known = new Map();
  return (text, size = 12) => {
    const key = `${size} ${text}`;
    if (!known.has(key)) {
      context.font = `${size}px system-ui, sans-serif`;
      // 5 % more, for fonts that the canvas sets narrower than the page.
      known.set(key, context.measureText(text).width * 1.05);
    }
    return known.get(key);
  };
})();

// The text, shortened with an ellipsis to fit; empty if not even three letters fit.
function fitted(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(`${text.slice(0, middle)}…`, size) <= width)
      low = middle;
    else
      high = middle - 1;
  }
  return low < 3 ? '' : `${text.slice(0, low)}…`;
}

// The first of the texts that fits, or the end of the last one: the end of a stage's name says more
// than its beginning. Empty if not even six letters fit.
function fittedEnd(texts, width, size = 12) {
  const whole = texts.find((text) => textWidth(text, size) <= width);
  if (whole !== undefined) return whole;
  const last = texts[texts.length - 1];
  for (let at = 1; last.length - at >= 6; at += 1) {
    if (textWidth(`…${last.slice(at)}`, size) <= width) return `…${last.slice(at)}`;
  }
  return '';
}

// Textures: what a colour says is also in a texture or a place. Diagonal hatching is for estimates.
const TEXTURES = {
  dots: () => [svg('circle', {cx: 2, cy: 2, r: 0.9}), svg('circle', {cx: 6, cy: 6, r: 0.9})],
  upright: () => [line(2, 0, 2, 8), line(6, 0, 6, 8)],
  level: () => [line(0, 2, 8, 2), line(0, 6, 8, 6)],
  grid: () => [line(4, 0, 4, 8), line(0, 4, 8, 4)],
  hatch: () => [svg('path', {d: 'M-2 2L2 -2M0 8L8 0M6 10L10 6'})],
};

function texture(id, colour, kind) {
  const marks = TEXTURES[kind]?.() ?? [];
  const back = kind === 'hatch' ? 'texture-pale' : '';
  return svg(
      'pattern', {id, width: 8, height: 8, patternUnits: 'userSpaceOnUse'},
      rect(0, 0, 8, 8, {class: `${colour} ${back}`}),
      svg('g', {class: `texture-mark ${kind === 'hatch' ? `line-${colour}` : ''}`}, marks));
}

const FILLS = [];

// Registers a texture and returns the value of `fill` that draws it.
function textured(colour, kind) {
  const id = `texture-${colour}-${kind}`;
  if (!FILLS.includes(id)) {
    FILLS.push(id);
    document.getElementById('textures').append(texture(id, colour, kind));
  }
  return `url(#${id})`;
}

const SIGNS = {
  OK: '✓',
  DEGRADED: '△',
  INVALID: '✕',
  FAILED: '✕',
  SKIPPED: '–',
  CRASHED: '✕',
  TIMEOUT: '✕',
  OUT_OF_MEMORY: '✕',
  INTERRUPTED: '–'
};

function badge(status) {
  const known = status ?? ABSENT;
  return html(
      'span', {class: `badge status-${SIGNS[known] ? known : 'other'}`},
      html('span', {'aria-hidden': 'true'}, SIGNS[known] ?? '?'), ` ${words(known)}`);
}
