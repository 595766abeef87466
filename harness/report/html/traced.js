// A log of oneDNN: what a framework's primitives took there, and take here.

const primitiveText = (row) => [row.primitive, words(row.pass ?? row.prop_kind)].join(' ').trim();

function primitiveFacts(row) {
  return {
    title: `${row.index + 1}. ${row.label}`,
    lines: [
      ['problem', row.problem ?? ABSENT], ['types', row.types ?? ABSENT],
      ['layouts', row.layouts ?? ABSENT], ['runs', count(row.count)],
      ['framework', timeText(row.framework_seconds)], ['here', timeText(row.measured_seconds)],
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
      nodeRows('Top-Down in the caches', row.topdown, false),
      nodeRows('Top-Down bounds in the caches', row.topdown_bounds, true),
      row.topdown_bounds_reason ?
          html('p', {class: 'caption'}, `No Top-Down bounds: ${row.topdown_bounds_reason}.`) :
          null);
}

// What the hot runs lose most to: counted, or the bound whose lower end is the highest.
const lossText = (row) => largestLoss(row) ?? largestBound(row.topdown_bounds, 'estimate') ?? '';

function traceVerdict(trace) {
  const slowest = trace.items.slice(0, 3).map(
      (row) => `${row.label}: ${timeText(row.framework_seconds)}, ${percent(row.share)}`);
  const reasons = trace.items.filter((row) => row.reason).map((row) => `${row.label}: ${row.reason}`);
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Trace'),
      html('p', {class: 'caption'}, [trace.library, machineText(trace.machine)].filter(Boolean).join('; ')),
      html(
          'dl', {class: 'figures'},
          figure('framework', timeText(trace.framework_seconds), `${count(trace.primitives)} runs`),
          figure('measured here', percent(trace.covered), "of the framework's time"),
          figure('here over framework', ratioText({ratio: trace.median_ratio?.cold}), 'median of the rows'),
          figure('reorders', percent(trace.reorder_share), "of the framework's time"),
          figure('between primitives', timeText(trace.between_seconds))),
      list('costliest primitives', slowest, true),
      list(plural(reasons.length, 'row') + ' not measured', reasons, false),
      commandLine(trace.command));
}

function primitiveTable(trace, view) {
  return view.add(new ItemTable(view, {
    id: 'row-table',
    title: 'All primitives',
    filterName: 'primitive, problem, status',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (row) => row.index + 1, String),
      {name: 'primitive', head: true, text: primitiveText},
      {name: 'problem', text: (row) => String(row.problem ?? ABSENT)},
      numberColumn('runs', (row) => row.count, count),
      numberColumn('framework', (row) => row.framework_seconds, timeText),
      numberColumn('share', (row) => row.share, percent),
      numberColumn('here', (row) => row.measured_seconds, timeText),
      numberColumn('in caches', (row) => row.hot_seconds, timeText),
      {...numberColumn('ratio', (row) => row.ratio, digits), text: ratioText},
      numberColumn('fastest', (row) => row.best_seconds, timeText),
      {name: 'variant', text: (row) => row.best ?? ''},
      ...(trace.items.some((row) => row.topdown || row.topdown_bounds) ?
              [{name: 'largest loss', text: lossText}] :
              []),
      {name: 'status', text: (row) => words(row.status ?? ABSENT)}
    ]
  }));
}
