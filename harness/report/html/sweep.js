// A sweep: one bar per case.

function caseFacts(one) {
  return {
    title: `${one.index + 1}. ${one.label}`,
    lines: [
      ['status', words(one.status ?? ABSENT)],
      ...(one.bar?.mean ?
              [
                ['mean step', timeText(one.seconds)],
                ['95 % interval', interval({min: one.bar.low, p90: one.bar.high})]
              ] :
              []),
      ['median step', timeText(one.time?.median)], ['min to p90', interval(one.time)],
      ['n', count(one.time?.n)], ['images per second', digits(one.images)],
      ['compute', timeText(one.bar?.compute)], ['input wait', timeText(one.bar?.wait)],
      ['other', timeText(one.bar?.other)], ...(one.reason ? [['reason', one.reason]] : [])
    ]
  };
}

function caseDetails(one) {
  const settings = [
    'network', 'mode', 'batch', 'dtype', 'backend', 'threads', 'prefetch', 'placement', 'regime',
    'isa', 'plan', 'repeat', 'file'
  ];
  return html(
      'div', {class: 'details'},
      html(
          'div', {}, html('h3', {}, 'Case'),
          rows(settings.filter((key) => one[key] !== undefined && one[key] !== null)
                   .map((key) => [key, String(one[key])]))),
      html('div', {}, html('h3', {}, 'Figures'), rows(caseFacts(one).lines)));
}

const PARTS = [
  ['compute', 'compute', 'node-0', null], ['wait', 'input wait', 'node-3', 'level'],
  ['other', 'other', 'shade-none', 'dots']
];

function caseBar(group, one, what, x, y) {
  if (what === 'images') {
    group.append(rect(x(0), y, x(one.images) - x(0), 16, {class: 'node-0 bar'}));
    return;
  }
  let at = 0;
  for (const [key, , colour, kind] of PARTS) {
    const value = one.bar[key];
    if (!(value > 0)) continue;
    group.append(rect(
        x(at), y, x(at + value) - x(at), 16,
        {class: `${colour} bar`, fill: kind ? textured(colour, kind) : null, 'data-part': key}));
    at += value;
  }
  if (isNumber(one.bar.low) && isNumber(one.bar.high)) {
    group.append(
        line(x(Math.max(0, one.bar.low)), y + 8, x(one.bar.high), y + 8, {class: 'whisker'}));
  }
}

function sweepPicture(sweep, view) {
  const state = {what: 'seconds'};
  const valueOf = (one) => (state.what === 'images' ? one.images : one.seconds);
  const draw = (root, marks, width) => {
    const narrow = width < 640;
    const left = narrow ? 0 : Math.min(300, width * 0.34);
    const right = narrow ? width : width - 90;
    const height = narrow ? 42 : 26;
    const most = Math.max(
                     ...sweep.items.map(
                         (one) => Math.max(
                             valueOf(one) ?? 0, state.what === 'images' ? 0 : one.bar?.high ?? 0)),
                     0) ||
        1;
    const x = (value) => left + (right - left) * value / most;
    sweep.items.forEach((one, k) => {
      const y = k * height;
      const value = valueOf(one);
      const group =
          svg('g', {class: `row ${markClass(one)}`}, rect(0, y, width, height, {class: 'hit'}));
      const shown = state.what === 'images' ? digits(value) : timeText(value);
      const text = isNumber(value) ? shown : ABSENT;
      const sign = one.status === 'OK' ? '' : `${SIGNS[one.status] ?? '?'} `;
      if (narrow) {
        group.append(
            label(width, y + 13, text, {'text-anchor': 'end', class: 'number'}),
            label(0, y + 13, fitted(sign + one.label, width - textWidth(text) - 12)));
      } else {
        group.append(
            label(width, y + 17, text, {'text-anchor': 'end', class: 'number'}),
            label(left - 10, y + 17, fitted(sign + one.label, left - 14), {'text-anchor': 'end'}));
      }
      if (isNumber(value))
        caseBar(group, one, state.what, x, y + (narrow ? 19 : 5));
      else
        group.append(label(
            left, y + (narrow ? 31 : 17),
            fitted(
                `${words(one.status ?? ABSENT)}${one.reason ? `: ${one.reason}` : ''}`,
                right - left),
            {class: 'tick'}));
      root.append(group);
      marks.add(one.index, group);
    });
    return sweep.items.length * height;
  };
  const picture = new Picture(view, {
    id: 'cases',
    title: 'Cases',
    wide: true,
    draw,
    caption: sweep.means ?
        'The mean time of a step, which its parts sum to: compute, the wait for input, and the ' +
            'rest. The thin line is the 95 % interval of the median.' :
        'The median time of a step: compute, the wait for input, and the rest. The thin line is ' +
            'the interval from min to p90.',
    controls: [choice(
        'figure', [['seconds', 'time of a step'], ['images', 'images per second']], 'seconds',
        (what) => {
          state.what = what;
          picture.fit(true);
        })],
    legend: PARTS.map(
        ([, name, colour, kind]) => swatch(name, kind ? textured(colour, kind) : null, colour))
  });
  return view.add(picture);
}

function sweepVerdict(sweep) {
  const counts = new Map();
  for (const one of sweep.items) counts.set(one.status, (counts.get(one.status) ?? 0) + 1);
  const problems = sweep.items.filter((one) => one.status !== 'OK')
                       .map(
                           (one) => `${one.label}: ${words(one.status ?? ABSENT)}${
                               one.reason ? `: ${one.reason}` : ''}`);
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Sweep'),
      html('p', {class: 'caption'}, sweep.machine ? machineText(sweep.machine) : ''),
      html('p', {class: 'verdict'}, [...counts].map(([status, n]) => [badge(status), ` ${n} `])),
      sweep.left_out > 0 ? html('p', {}, `${count(sweep.left_out)} cases were left out.`) : null,
      list(`${plural(problems.length, 'case')} not OK`, problems, true),
      list(plural((sweep.notes ?? []).length, 'note'), sweep.notes ?? [], false),
      commandLine(sweep.command));
}

function caseTable(sweep, view) {
  const plain = (name, key = name) => ({name, text: (one) => String(one[key] ?? ABSENT)});
  return view.add(new ItemTable(view, {
    id: 'case-table',
    title: 'All cases',
    filterName: 'id, network, status',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (one) => one.index + 1, String), {...plain('case', 'label'), head: true},
      plain('network'), plain('mode'), numberColumn('batch', (one) => one.batch, count),
      plain('dtype'), plain('backend'), numberColumn('threads', (one) => one.threads, count),
      {...plain('status'), cell: (one) => badge(one.status)},
      numberColumn(sweep.means ? 'mean step' : 'step', (one) => one.seconds, timeText),
      numberColumn('median', (one) => one.time?.median, timeText),
      numberColumn('min', (one) => one.time?.min, timeText),
      numberColumn('p90', (one) => one.time?.p90, timeText),
      numberColumn('n', (one) => one.time?.n, count),
      numberColumn('compute', (one) => one.bar?.compute, timeText),
      numberColumn('input wait', (one) => one.bar?.wait, timeText),
      numberColumn('images/s', (one) => one.images, digits), copyColumn(sweep)
    ]
  }));
}
