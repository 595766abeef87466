// A comparison of two results, or of machines with a chosen one: the ratio of each row with its
// interval, and the ratio in units of each machine's own ceiling. sharing.js uses its picture.

const ratioText = (row) => (isNumber(row.ratio) ? row.ratio.toFixed(3) : ABSENT);

// Both ends, or none.
const endsOf = (row) =>
    (Array.isArray(row.ci95) && row.ci95.length === 2 && row.ci95.every(isNumber) ? row.ci95 : []);

const ratioInterval = (row) => endsOf(row).map((end) => end.toFixed(3)).join(' to ') || ABSENT;

const significanceText = ({significant}) =>
    (significant === true      ? 'yes' :
         significant === false ? 'no' :
                                 ABSENT);

const effectText = ({effect}) => (isNumber(effect) ? digits(effect) : String(effect ?? ABSENT));

const normalisedText = ({ratio_normalised: x}) => (isNumber(x) ? x.toFixed(3) : ABSENT);

// The share of its own ceiling that each side reaches, and what is left of the ratio.
const ceilingFacts = (row) =>
    (isNumber(row.ratio_normalised) ?
         [
           ['a, of its ceiling', percent(row.a_peak_fraction)],
           ['b, of its ceiling', percent(row.b_peak_fraction)],
           ['normalised ratio', normalisedText(row)]
         ] :
         []);

function rowFacts(row) {
  return {
    title: `${row.index + 1}. ${row.label}`,
    lines: [
      ['ratio b/a', ratioText(row)], ['95 % interval', ratioInterval(row)], ...ceilingFacts(row),
      ['significant', significanceText(row)], ['a', timeText(row.before?.median)],
      ['b', timeText(row.after?.median)], ['p', isNumber(row.p) ? digits(row.p) : ABSENT],
      ['p of this row alone', isNumber(row.p_single) ? digits(row.p_single) : ABSENT],
      ['effect', effectText(row)], ...(row.reason ? [['reason', row.reason]] : [])
    ]
  };
}

function rowDetails(row) {
  return html(
      'div', {class: 'details'}, html('div', {}, html('h3', {}, 'Row'), rows(rowFacts(row).lines)));
}

// The ratios' range on a logarithmic axis around 1.
function ratioRange({items, normalised}) {
  const values =
      items.flatMap((row) => [row.ratio, normalised ? row.ratio_normalised : null, ...endsOf(row)])
          .filter((v) => isNumber(v) && v > 0);
  const most = Math.max(1.05, ...values, ...values.map((v) => 1 / v));
  return Math.min(most * 1.02, 20);
}

function drawRatio(group, row, x, y) {
  const [low, high] = endsOf(row);
  const side = row.significant ? (row.ratio > 1 ? 'slower' : 'faster') : 'same';
  if (isNumber(low) && isNumber(high)) {
    group.append(line(x(low), y, x(high), y, {class: `ratio-interval ${side}`}));
  }
  if (!isNumber(row.ratio)) return;
  const shape = {
    slower: polygon(3, 6.5, 0),
    faster: polygon(3, 6.5, Math.PI),
    same: polygon(4, 4.5, 0)
  }[side];
  group.append(
      svg('path',
          {class: `ratio ${side}`, d: shape, transform: `translate(${round(x(row.ratio))} ${y})`}));
}

// Beside the ratio, which stays on top.
function drawNormalised(group, row, x, y) {
  if (!isNumber(row.ratio_normalised) || row.ratio_normalised <= 0) return;
  group.append(svg('path', {
    class: 'ratio-normalised',
    d: polygon(4, 6.5, 0),
    transform: `translate(${round(x(row.ratio_normalised))} ${y})`
  }));
}

const RATIOS_SHOWN = 40;

const NORMALISED =
    '◇: the ratio of the times in units of the time at the own ceiling of each machine; right of ' +
    '1, b takes longer than its ceiling explains.';

function ratioPicture(comparison, view) {
  const {title, less, more, caption} = comparison.ratios;
  const range = ratioRange(comparison);
  const state = {all: false, extra: null};
  // The significant rows and those with the largest ratios, in their order.
  const distance = (row) =>
      (row.significant ? 100 : 0) + (row.ratio > 0 ? Math.abs(Math.log(row.ratio)) : 0);
  const shown = () => {
    if (state.all) return comparison.items;
    const most = [...comparison.items].sort((a, b) => distance(b) - distance(a));
    const kept = new Set(most.slice(0, RATIOS_SHOWN).map((row) => row.index));
    return comparison.items.filter((row) => kept.has(row.index) || row.index === state.extra);
  };
  const draw = (root, marks, width) => {
    const items = shown();
    const narrow = width < 640;
    const left = narrow ? 8 : Math.min(300, width * 0.32);
    const right = narrow ? width - 8 : width - 200;
    const height = narrow ? 42 : 24;
    const bottom = items.length * height;
    const x = (v) => left +
        (right - left) * (Math.log(Math.min(range, Math.max(1 / range, v))) / Math.log(range) + 1) /
            2;
    root.append(line(x(1), 0, x(1), bottom + 4, {class: 'one'}));
    const labels = new Labels();
    labels.place(root, x(1), bottom + 18, '1', {class: 'tick', 'text-anchor': 'middle'});
    labels.place(root, left, bottom + 18, `${(1 / range).toFixed(2)}: ${less}`, {class: 'tick'});
    labels.place(
        root, right, bottom + 18, `${more}: ${range.toFixed(2)}`,
        {class: 'tick', 'text-anchor': 'end'});
    items.forEach((row, k) => {
      const y = k * height;
      const group =
          svg('g', {class: `row ${markClass(row)}`}, rect(0, y, width, height, {class: 'hit'}));
      const text = `${ratioText(row)}${row.significant ? ' *' : ''}`;
      if (narrow) {
        group.append(
            label(width, y + 13, text, {'text-anchor': 'end', class: 'number'}),
            label(0, y + 13, fitted(row.label, width - textWidth(text) - 12)));
      } else {
        group.append(
            label(left - 10, y + 16, fitted(row.label, left - 14), {'text-anchor': 'end'}),
            label(width - 130, y + 16, text, {'text-anchor': 'end', class: 'number'}),
            label(width, y + 16, ratioInterval(row), {'text-anchor': 'end', class: 'number'}));
      }
      if (comparison.normalised) drawNormalised(group, row, x, y + (narrow ? 27 : 12));
      drawRatio(group, row, x, y + (narrow ? 27 : 12));
      root.append(group);
      marks.add(row.index, group);
    });
    return bottom + 22;
  };
  const many = comparison.items.length > RATIOS_SHOWN;
  const picture = new Picture(view, {
    id: 'ratios',
    title,
    wide: true,
    draw,
    caption: comparison.normalised ? `${caption} ${NORMALISED}` : caption,
    controls: many ?
        [choice(
            'rows',
            [[false, `${RATIOS_SHOWN} most different`], [true, `all ${comparison.items.length}`]],
            false,
            (all) => {
              state.all = all;
              picture.fit(true);
            })] :
        null,
    onChoose: (item) => {
      if (shown().some((row) => row.index === item)) return;
      state.extra = item;
      picture.fit(true);
    }
  });
  return view.add(picture);
}

function comparisonVerdict(comparison) {
  const step = comparison.step ?? {};
  const significant = comparison.items.filter((row) => row.significant === true).length;
  const differences = comparison.differences ?? [];
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Comparison'),
      html(
          'p', {class: 'caption'},
          typeof comparison.a === 'string' ? `a: ${comparison.a}, b: ${comparison.b}` : ''),
      html(
          'p', {class: 'verdict'}, html('span', {class: 'badge'}, comparison.verdict ?? ABSENT),
          ` ${comparison.summary ?? comparison.reason ?? ''}`),
      html(
          'dl', {class: 'figures'},
          figure('step, b over a', ratioText(step), `95 % interval ${ratioInterval(step)}`),
          figure('a', timeText(summaryOf(step.a)?.median)),
          figure('b', timeText(summaryOf(step.b)?.median)),
          figure('significant rows', `${significant} of ${comparison.items.length}`)),
      list(`${plural(differences.length, 'difference')} between the runs`, differences, true),
      list(plural((comparison.notes ?? []).length, 'note'), comparison.notes ?? [], false),
      commandLine(comparison.command));
}

// The steps of each machine, and how far each is from its own ceiling.
function machinesVerdict(comparison) {
  const {machines, chosen} = comparison;
  const stepOf = (machine) => machine.step ?? {};
  const notes = (key) => machines.flatMap(
      (machine) => (machine[key] ?? []).map((line) => `${machine.name ?? '?'}: ${line}`));
  const differences = notes('differences');
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Machines'),
      html(
          'p', {class: 'caption'},
          `a: ${chosen ?? '?'}; b: each other machine. ${comparison.finished ?? ABSENT} of ${
              comparison.cases ?? ABSENT} cases are finished.`),
      machines.map(
          (machine) => html(
              'p', {class: 'verdict'}, html('span', {class: 'badge'}, machine.verdict ?? ABSENT),
              ` ${machine.name ?? '?'}: ${machine.summary ?? machine.reason ?? ''}`)),
      html(
          'dl', {class: 'figures'},
          machines.map(
              (machine) => figure(
                  `step, ${machine.name ?? '?'} over a`, ratioText(stepOf(machine)),
                  `95 % interval ${ratioInterval(stepOf(machine))}; normalised ${
                      normalisedText(stepOf(machine))}`))),
      list(`${plural(differences.length, 'difference')} from a`, differences, true),
      list(plural(notes('notes').length, 'note'), notes('notes'), false),
      commandLine(comparison.command));
}

// The columns of the ceilings, if there are any.
const ceilingColumns = (comparison) =>
    (comparison.normalised ?
         [
           numberColumn('a peak', (row) => row.a_peak_fraction, percent),
           numberColumn('b peak', (row) => row.b_peak_fraction, percent), {
             ...numberColumn('normalised', (row) => row.ratio_normalised, digits),
             text: normalisedText
           }
         ] :
         []);

function rowTable(comparison, view) {
  return view.add(new ItemTable(view, {
    id: 'row-table',
    title: 'All rows',
    filterName: 'name, pass',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (row) => row.index + 1, String),
      {name: 'name', head: true, text: (row) => String(row.name ?? ABSENT)},
      {name: 'pass', text: (row) => words(row.pass ?? ABSENT)},
      ...(comparison.machines ? [{name: 'machine', text: (row) => row.machine}] : []),
      numberColumn('a', (row) => row.before?.median, timeText),
      numberColumn('b', (row) => row.after?.median, timeText),
      {...numberColumn('ratio', (row) => row.ratio, digits), text: ratioText},
      {name: '95 % interval', number: true, value: (row) => endsOf(row)[0], text: ratioInterval},
      ...ceilingColumns(comparison), numberColumn('p', (row) => row.p, digits),
      {name: 'effect', number: true, value: (row) => row.effect, text: effectText},
      {name: 'significant', text: significanceText}
    ]
  }));
}
