// Each stage as a dot under the measured roofs. Both axes are logarithmic, a dot's area is the
// stage's time, and its shape is the group of its pass.

const SHAPES = {
  forward: (r) => svg('circle', {r: round(r)}),
  backward: (r) => svg('path', {d: polygon(4, r * 1.25, Math.PI / 4)}),
  update: (r) => svg('path', {d: polygon(3, r * 1.55, -Math.PI / 2)}),
  reorder: (r) => svg('path', {d: polygon(4, r * 1.25, 0)}),
  loss: (r) => svg('path', {d: polygon(6, r * 1.1, 0)}),
  other: (r) => svg('path', {d: polygon(5, r * 1.15, -Math.PI / 2)}),
};

function polygon(corners, r, turn) {
  const points = Array.from({length: corners}, (_, i) => {
    const angle = turn + 2 * Math.PI * i / corners;
    return `${round(r * Math.cos(angle))} ${round(r * Math.sin(angle))}`;
  });
  return `M${points.join('L')}Z`;
}

// A ceiling is a roof if it holds: not if it is INVALID, and not without a value.
const holds = (c) => isNumber(c.value) && (c.status === 'OK' || c.status === 'DEGRADED');

// The compute ceilings that the stages refer to, and the fastest bandwidth of each level.
function roofsOf(profile) {
  const ceilings = profile.machine?.ceilings ?? [];
  const used = new Set(profile.items.map((stage) => stage.ceiling));
  const compute = ceilings.filter((c) => c.unit !== 'B/s' && used.has(c.name) && holds(c));
  const levels = new Map();
  for (const c of ceilings) {
    if (c.unit !== 'B/s' || !holds(c)) continue;
    if (!levels.has(c.operands) || levels.get(c.operands).value < c.value) {
      levels.set(c.operands, c);
    }
  }
  const absent = ceilings.filter((c) => used.has(c.name) && !holds(c));
  return {compute, bandwidth: [...levels.values()], absent};
}

function rooflineScales(points, roofs, width, height) {
  const peak = Math.max(...roofs.compute.map((c) => c.value), ...points.map((p) => p.y));
  const ridge = roofs.bandwidth.length > 0 && roofs.compute.length > 0 ?
      peak / Math.min(...roofs.bandwidth.map((c) => c.value)) :
      1;
  const lowX = Math.min(...points.map((p) => p.x)) / 2;
  const highX = Math.max(...points.map((p) => p.x), ridge) * 3;
  const lowY = Math.max(Math.min(...points.map((p) => p.y)) / 2, peak / 1e6);
  const highY = peak * 2.2;
  const frame = {left: 52, right: width - 10, top: 8, bottom: height - 38};
  const scale = (low, high, from, to) => (v) =>
      from + (to - from) * Math.log(v / low) / Math.log(high / low);
  return {
    frame,
    lowX,
    highX,
    lowY,
    highY,
    x: scale(lowX, highX, frame.left, frame.right),
    y: scale(lowY, highY, frame.bottom, frame.top)
  };
}

function drawAxes(root, s, labels) {
  for (const value of powers(s.lowX, s.highX)) {
    root.append(line(s.x(value), s.frame.top, s.x(value), s.frame.bottom, {class: 'grid'}));
    labels.place(
        root, s.x(value), s.frame.bottom + 15, digitsOfPower(value),
        {class: 'tick', 'text-anchor': 'middle'});
  }
  for (const value of powers(s.lowY, s.highY)) {
    root.append(line(s.frame.left, s.y(value), s.frame.right, s.y(value), {class: 'grid'}));
    labels.place(
        root, s.frame.left - 6, s.y(value) + 4, digitsOfPower(value / 1e9),
        {class: 'tick', 'text-anchor': 'end'});
  }
  root.append(label(
      (s.frame.left + s.frame.right) / 2, s.frame.bottom + 33, 'FLOP per byte',
      {class: 'axis', 'text-anchor': 'middle'}));
  root.append(
      svg('text', {
        class: 'axis',
        'text-anchor': 'middle',
        transform: `translate(12 ${round((s.frame.top + s.frame.bottom) / 2)}) rotate(-90)`
      },
          'GFLOP/s'));
}

const digitsOfPower = (x) => (x >= 1e5 || x < 1e-3 ? x.toExponential(0) : String(round3(x)));
const round3 = (x) => Number(x.toPrecision(3));

function roofFacts(c) {
  const lines = [
    ['measured', rate(c.value, c.unit)], ['threads', count(c.threads)],
    ['spread', percent(c.spread)], ['status', c.status]
  ];
  if (c.reason) lines.push(['reason', c.reason]);
  return {title: `roof ${c.name}`, lines};
}

// Draws the lines, and returns the labels to write above everything else.
function drawRoofs(root, marks, roofs, s) {
  const peak = Math.max(...roofs.compute.map((c) => c.value), 0);
  const top = peak > 0 ? peak : s.highY;
  const texts = [];
  const add = (c, x1, y1, x2, y2) => {
    const path =
        svg('g', {class: `roof ${c.status === 'OK' ? '' : 'doubtful'}`},
            line(x1, y1, x2, y2, {class: 'hit-line'}), line(x1, y1, x2, y2));
    root.append(path);
    marks.add(null, path, () => roofFacts(c));
  };
  for (const c of [...roofs.compute].sort((a, b) => b.value - a.value)) {
    const start = roofs.bandwidth.length > 0 ?
        Math.max(s.lowX, c.value / Math.max(...roofs.bandwidth.map((b) => b.value))) :
        s.lowX;
    add(c, s.x(start), s.y(c.value), s.frame.right, s.y(c.value));
    const text = `${c.name} ${rate(c.value, c.unit)}${c.status === 'OK' ? '' : ' △'}`;
    texts.push([
      s.frame.right - 2, s.y(c.value) - 5, fitted(text, s.frame.right - s.frame.left - 4),
      {class: 'roof-label', 'text-anchor': 'end'}
    ]);
  }
  for (const c of [...roofs.bandwidth].sort((a, b) => b.value - a.value)) {
    const from = Math.max(s.lowX, s.lowY / c.value);
    const to = Math.min(s.highX, top / c.value);
    if (!(to > from)) continue;
    add(c, s.x(from), s.y(from * c.value), s.x(to), s.y(to * c.value));
    const text = `${c.operands} ${digits(c.value / 1e9)} GB/s${c.status === 'OK' ? '' : ' △'}`;
    // Below the line's lower end, where the lines are farthest from the dots.
    texts.push([
      s.x(from) + 10, Math.min(s.frame.bottom - 4, s.y(from * c.value) + 13),
      fitted(text, s.frame.right - s.x(from) - 12), {class: 'roof-label'}
    ]);
  }
  return texts;
}

function rooflinePicture(profile, view) {
  const roofs = roofsOf(profile);
  const state = {bytes: profile.items.some((s) => isNumber(s.roofline?.dram)) ? 'dram' : 'l1'};
  const pointsOf = () =>
      profile.items
          .filter(
              (stage) =>
                  stage.roofline?.rate > 0 && stage.roofline[state.bytes] > 0 && stage.seconds > 0)
          .map((stage) => ({stage, x: stage.roofline[state.bytes], y: stage.roofline.rate}));
  const draw = (root, marks, width) => {
    const points = pointsOf().sort((a, b) => b.stage.seconds - a.stage.seconds);
    if (points.length === 0) {
      root.append(label(0, 16, 'n/a: no stage has both FLOPs and bytes.'));
      return 24;
    }
    const height = Math.max(280, Math.min(460, width * 0.62));
    const s = rooflineScales(points, roofs, width, height);
    const labels = new Labels();
    drawAxes(root, s, labels);
    const names = drawRoofs(root, marks, roofs, s);
    const longest = points[0].stage.seconds;
    // All dots together cover at most a tenth of the picture.
    const dots = points.reduce((sum, point) => sum + point.stage.seconds / longest, 0);
    const largest = Math.min(16, Math.sqrt(width * height / 10 / (Math.PI * dots)));
    for (const {stage, x, y} of points) {
      const r = Math.max(2, largest * Math.sqrt(stage.seconds / longest));
      const dot =
          svg('g', {
            class: `dot group-${stage.group} ${boxClass(stage, 2 * r)}`,
            transform: `translate(${round(s.x(x))} ${round(s.y(Math.max(y, s.lowY)))})`
          },
              SHAPES[stage.group](r));
      root.append(dot);
      marks.add(stage.index, dot, () => {
        const facts = view.facts(stage.index);
        return {
          title: facts.title,
          lines: [
            ...facts.lines.slice(0, 6), ['FLOP per byte', digits(x)],
            ['rate, as drawn', rate(y, 'FLOP/s')],
            ['attainable', rate(stage.roofline.attainable, 'FLOP/s')]
          ]
        };
      });
    }
    for (const name of names) labels.place(root, ...name);
    return height;
  };
  const describe = () => {
    const drawn = pointsOf().length;
    const without = profile.items.length - drawn;
    const absent = roofs.absent.length > 0 ?
        ` No roof for ${
                [...new Set(roofs.absent.map((c) => `${c.name} (${c.status})`))].join(', ')}.` :
        '';
    const which = state.bytes === 'dram' ?
        'Bytes: compulsory traffic from memory.' :
        'Bytes: loads and stores as executed, between core and L1.';
    picture.caption.textContent =
        `${which} Roofs are ceilings measured on this machine. The area ` +
        `of a dot is the stage's time.${absent}` +
        (without > 0 ?
             ` ${without} of ${profile.items.length} stages without FLOPs, bytes or time ` +
                 'are not drawn.' :
             '') +
        dashedNote(profile.items);
  };
  const present = GROUPS.filter((group) => profile.items.some((stage) => stage.group === group));
  const picture = new Picture(view, {
    id: 'roofline',
    title: 'Roofline',
    caption: '',
    draw,
    controls: [choice(
        'bytes', [['dram', 'memory'], ['l1', 'L1']], state.bytes,
        (bytesOf) => {
          state.bytes = bytesOf;
          describe();
          picture.fit(true);
        })],
    legend: present.map(
        (group) => html(
            'li', {},
            svg('svg', {
              width: 16,
              height: 14,
              viewBox: '-8 -7 16 14',
              class: 'swatch',
              'aria-hidden': 'true'
            },
                svg('g', {class: `dot group-${group}`}, SHAPES[group](5))),
            ` ${group}`))
  });
  describe();
  return view.add(picture);
}

// Items that are not OK have a dashed outline, if their mark has room for it.
const markClass = (item) => (item.status && item.status !== 'OK' ? 'doubtful' : '');
const boxClass = (item, size) => (size >= 14 ? markClass(item) : '');
const DASHED = ' Dashed outline: not OK, see the status.';
const dashedNote = (items) => (items.some(markClass) ? DASHED : '');
