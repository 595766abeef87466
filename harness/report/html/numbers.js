'use strict';
// Numbers as the reader sees them. An absent value is "n/a".

const ABSENT = 'n/a';

const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);

// Three significant digits; whole numbers of four digits and more are not shortened.
function digits(x) {
  if (!isNumber(x)) return ABSENT;
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e6) return x.toExponential(2);
  if (size >= 999.5) return x.toFixed(0);
  if (size < 0.001) return x.toExponential(1);
  return x.toPrecision(3);
}

function scaled(x, units, base) {
  let at = 0;
  while (at + 1 < units.length && Math.abs(x) >= base * 0.9995) {
    x /= base;
    at += 1;
  }
  return `${digits(x)} ${units[at]}`.trimEnd();
}

// Seconds.
function time(x) {
  if (!isNumber(x)) return ABSENT;
  return x === 0 ? '0 s' : scaled(x * 1e9, ['ns', 'µs', 'ms', 's'], 1000);
}

function bytes(x) {
  return isNumber(x) ? scaled(x, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024) : ABSENT;
}

// Operations per second, and bytes per second.
function rate(x, unit) {
  return isNumber(x) ? scaled(x, ['', 'k', 'M', 'G', 'T'].map((p) => p + unit), 1000) : ABSENT;
}

function percent(x) {
  if (!isNumber(x)) return ABSENT;
  const value = 100 * x;
  if (value !== 0 && Math.abs(value) < 0.05) return value < 0 ? '> −0.1 %' : '< 0.1 %';
  return `${value.toFixed(1)} %`;
}

function count(x) {
  return isNumber(x) ? x.toLocaleString('en-US', {maximumFractionDigits: 3}) : ABSENT;
}

const words = (name) => String(name ?? '').replaceAll('_', ' ');

// Round values for the ticks of a linear axis from 0 to `most`.
function ticks(most, wanted) {
  if (!(most > 0)) return [0];
  const raw = most / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) ?? 10 * power;
  const list = [];
  for (let i = 0; i * step <= most * (1 + 1e-9); i += 1) list.push(i * step);
  return list;
}

// The same for bytes, in whole units.
function byteTicks(most, wanted) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(most || 1) / Math.log(1024)));
  return ticks(most / unit, wanted).map((value) => value * unit);
}

// "1 warning", "2 warnings".
const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

// The powers of ten (or of `base`) within [low, high].
function powers(low, high, base = 10) {
  const list = [];
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  for (let e = first; base ** e <= high * (1 + 1e-9); e += 1) list.push(base ** e);
  return list;
}
