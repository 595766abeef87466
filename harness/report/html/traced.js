// A log of oneDNN, or a live run: what a framework's primitives took there, and take here.

const primitiveText = (row) => [row.primitive, words(row.pass ?? row.prop_kind)].join(' ').trim();

// What a live run counted, for one run of the row.
const perRun = (row, counter) =>
    (isNumber(row.counters?.[counter]) && row.count > 0 ? row.counters[counter] / row.count : null);
const busyCpus = (row) =>
    (row.live_seconds > 0 && isNumber(row.counters?.['task-clock']) ?
         row.counters['task-clock'] * 1e-9 / row.live_seconds :
         null);

function liveFacts(row) {
  if (!isNumber(row.live_share)) return [];
  return [
    ['share of the program', percent(row.live_share)], ['CPUs', digits(busyCpus(row))],
    ...Object.keys(row.counters ?? {})
        .filter((name) => name !== 'task-clock')
        .map((name) => [`${name} of a run`, digits(perRun(row, name))]),
    ...(row.overlapped > 0 ? [['runs beside another one', count(row.overlapped)]] : []),
    ...(row.live_topdown_reason ? [['no Top-Down', row.live_topdown_reason]] : [])
  ];
}

function primitiveFacts(row) {
  return {
    title: `${row.index + 1}. ${row.label}`,
    lines: [
      ...['module', 'operator'].filter((key) => row[key]).map((key) => [key, row[key]]),
      ['problem', row.problem ?? ABSENT], ['types', row.types ?? ABSENT],
      ['layouts', row.layouts ?? ABSENT], ['runs', count(row.count)],
      ['framework', timeText(row.framework_seconds)], ...liveFacts(row), ['here', timeText(row.measured_seconds)],
      ['here, data in the caches', timeText(row.hot_seconds)], ['here over framework', ratioText(row)],
      ['fastest variant', row.best ? `${row.best}, ${timeText(row.best_seconds)}` : ABSENT],
      ['status', words(row.status ?? ABSENT)],
      ...(row.reason ?? row.status_reason ? [['reason', row.reason ?? row.status_reason]] : [])
    ]
  };
}

function primitiveDetails(row) {
  return html(
      'div', {class: 'details'},
      html('div', {}, html('h3', {}, 'Primitive'), rows(primitiveFacts(row).lines)),
      nodeRows('Top-Down in the program', row.live_topdown, false),
      nodeRows('Top-Down in the caches', row.topdown, false),
      nodeRows('Top-Down bounds in the caches', row.topdown_bounds, true),
      row.topdown_bounds_reason ?
          html('p', {class: 'caption'}, `No Top-Down bounds: ${row.topdown_bounds_reason}.`) :
          null);
}

// What the hot runs lose most to: counted, or the bound whose lower end is the highest.
const lossText = (row) => largestLoss(row) ?? largestBound(row.topdown_bounds, 'estimate') ?? '';

// Of a live run.
function liveFigures(live) {
  const steps = live.steps;
  const later = steps?.later?.median;
  return [
    figure('program', timeText(live.program_seconds), live.processes === 1 ? '1 process' : `${count(live.processes)} processes`),
    figure(
        'between primitives', percent(live.span_seconds > 0 ? live.between_seconds / live.span_seconds : null),
        `of ${timeText(live.span_seconds)}, first to last`),
    figure(
        'step', timeText(later),
        steps ? `${count(steps.count)} of ${plural(steps.primitives, 'primitive')}` : 'no steps found')
  ];
}

const SHARES_SHOWN = 20;

// The program's time by row, the costliest first.
function liveSharePicture(trace, view) {
  if (!trace.live) return null;
  const items = trace.items.filter((row) => isNumber(row.live_share)).slice(0, SHARES_SHOWN);
  if (items.length === 0) return null;
  const draw = (root, marks, width) => {
    const narrow = width < 640;
    const left = narrow ? 0 : Math.min(420, width * 0.45);
    const right = narrow ? width : width - 130;
    const height = narrow ? 42 : 24;
    const most = Math.max(...items.map((row) => row.live_share), Number.MIN_VALUE);
    items.forEach((row, k) => {
      const y = k * height;
      const text = `${percent(row.live_share)}, ${timeText(row.framework_seconds)}`;
      root.append(svg(
          'g', {class: `row ${markClass(row)}`}, rect(0, y, width, height, {class: 'hit'}),
          rect(left, y + (narrow ? 20 : 4), (right - left) * row.live_share / most, 16, {class: 'node-0 bar'}),
          label(width, y + (narrow ? 14 : 16), text, {'text-anchor': 'end', class: 'number'}),
          narrow ? label(0, y + 14, fitted(row.label, width - textWidth(text) - 12)) :
                   label(left - 10, y + 16, fitted(row.label, left - 14), {'text-anchor': 'end'})));
      marks.add(row.index, root.lastChild);
    });
    return items.length * height;
  };
  return view.add(new Picture(view, {
    id: 'shares',
    title: 'Time in the program',
    wide: true,
    draw,
    caption: `The ${items.length} costliest rows of ${trace.items.length}: their share of ` +
        `${trace.live.step ? 'the step' : "the program's time"}, and their time.`
  }));
}

// The steps one after the other: all of their time, and that in primitives.
function liveStepsPicture(trace, view) {
  const steps = trace.live?.steps;
  if (!steps || steps.seconds.length < 2) return null;
  const lines = [['step', steps.seconds], ['in primitives', steps.primitive_seconds]];
  const draw = (root, marks, width) => {
    const left = Math.min(120, width * 0.3);
    const right = width - Math.min(190, width * 0.35);
    const x = (i) => left + (right - left) * i / (steps.seconds.length - 1);
    lines.forEach(([name, values], k) => {
      const group = svg('g', {class: 'row'}, rect(0, k * 60, width, 58, {class: 'hit'}));
      const series = {warmup: values.slice(0, 1), seconds: values.slice(1)};
      const {low, high} = seriesRow(group, series, x, k * 60 + 6, 46);
      const range = `${timeText(low)} to ${timeText(high)}`;
      group.append(
          label(left - 10, k * 60 + 34, fitted(name, left - 14), {'text-anchor': 'end'}),
          label(width, k * 60 + 34, fitted(range, width - right - 8), {'text-anchor': 'end', class: 'number'}));
      root.append(group);
      marks.add(null, group, () => ({title: `${name}, by step`, lines: [['range', range]]}));
    });
    return lines.length * 60;
  };
  const first = steps.steps_per_point === 1 ? `the first one took ${timeText(steps.first_seconds)}` :
                                              `a point is the mean of ${steps.steps_per_point} steps`;
  return view.add(new Picture(view, {
    id: 'steps',
    title: 'By step',
    wide: true,
    draw,
    caption: `${count(steps.count)} steps, each line in its own range, which is on the right, ` +
        `without the first point; ${first}.`
  }));
}

// Without a measurement here there is nothing to compare.
function tracedRatioPicture(trace, view) {
  return trace.here ? ratioPicture(trace, view) : null;
}

const operatorText = (own) => `${own.name}: ${timeText(own.seconds)}, ${percent(own.share)}, ` +
    `${percent(own.seconds > 0 ? own.primitive_seconds / own.seconds : null)} of it in primitives`;

function traceVerdict(trace) {
  const slowest = trace.items.slice(0, 3).map(
      (row) => `${row.label}: ${timeText(row.framework_seconds)}, ${percent(row.share)}`);
  const reasons = !trace.here ? [] : trace.items.filter((row) => row.reason).map((row) => `${row.label}: ${row.reason}`);
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, trace.live ? 'Live run' : 'Trace'),
      html('p', {class: 'caption'}, [trace.library, machineText(trace.machine)].filter(Boolean).join('; ')),
      html(
          'dl', {class: 'figures'},
          figure('framework', timeText(trace.framework_seconds), `${count(trace.primitives)} runs`),
          ...(trace.live ? liveFigures(trace.live) : []),
          ...(!trace.here ? [] : [
            figure('measured here', percent(trace.covered), "of the framework's time"),
            figure('here over framework', ratioText({ratio: trace.median_ratio?.cold}), 'median of the rows')
          ]),
          figure('reorders', percent(trace.reorder_share), "of the framework's time"),
          trace.live ? null : figure('between primitives', timeText(trace.between_seconds))),
      list('costliest primitives', slowest, true),
      list('costliest operators', (trace.live?.operators ?? []).map(operatorText), true),
      list(plural(reasons.length, 'row') + ' not measured', reasons, false),
      commandLine(trace.command));
}

function primitiveTable(trace, view) {
  const {here} = trace;
  return view.add(new ItemTable(view, {
    id: 'row-table',
    title: 'All primitives',
    filterName: 'primitive, problem, status',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (row) => row.index + 1, String),
      ...['module', 'operator']
          .filter((key) => trace.items.some((row) => row[key]))
          .map((key) => ({name: key, text: (row) => row[key] ?? ''})),
      {name: 'primitive', head: true, text: primitiveText},
      {name: 'problem', text: (row) => String(row.problem ?? ABSENT)},
      numberColumn('runs', (row) => row.count, count),
      numberColumn('framework', (row) => row.framework_seconds, timeText),
      ...(trace.live ? [
        numberColumn('share of the program', (row) => row.live_share, percent),
        numberColumn('CPUs', busyCpus, digits),
        numberColumn('faults', (row) => perRun(row, 'page-faults'), digits),
        numberColumn('switches', (row) => perRun(row, 'context-switches'), digits)
      ] : [numberColumn('share', (row) => row.share, percent)]),
      ...(trace.items.some((row) => row.live_topdown) ? [{
        name: 'largest loss in the program',
        text: (row) => largestLoss({topdown: row.live_topdown}) ?? ''
      }] : []),
      ...(here ? [
        numberColumn('here', (row) => row.measured_seconds, timeText),
        numberColumn('in caches', (row) => row.hot_seconds, timeText),
        {...numberColumn('ratio', (row) => row.ratio, digits), text: ratioText},
        numberColumn('fastest', (row) => row.best_seconds, timeText),
        {name: 'variant', text: (row) => row.best ?? ''}
      ] : []),
      ...(trace.items.some((row) => row.topdown || row.topdown_bounds) ?
              [{name: 'largest loss', text: lossText}] :
              []),
      ...(here ? [{name: 'status', text: (row) => words(row.status ?? ABSENT)}] : [])
    ]
  }));
}
