// Top-Down nodes of the costliest stages: measured shares as stacked bars; bounds and experiments
// as intervals, each in its own column. Estimates are hatched.

const LEVEL_1 = ['Retiring', 'Frontend_Bound', 'Bad_Speculation', 'Backend_Bound'];
const NODE_FILLS =
    [['node-0', 'solid'], ['node-1', 'dots'], ['node-2', 'upright'], ['node-3', 'level']];
const ROWS_SHOWN = 16;

// The parts of Memory_Bound, which are not on level 1.
const PARTS_OF_MEMORY = ['L1_L2_Bound', 'L3_Bound', 'DRAM_Bound'];

const TOPDOWN_KINDS = {
  tree: [
    'all evidence',
    'Shares of the time, as intervals, from counts and experiments together. The nodes of level 1 ' +
        'add up to 1; those after the gap are the parts of Memory Bound. Hatched nodes are what ' +
        'the others leave.'
  ],
  topdown: [
    'measured',
    'Shares of the pipeline slots, read from the counters (level 1). A gap is ' +
        'a node that was not counted, or the slots of the other hardware thread (SMT contention).'
  ],
  topdown_experiment: [
    'by experiment',
    'Shares of the time, as intervals, from repeated runs with ' +
        'and without waiting for memory. Hatched nodes follow from bounds.'
  ],
  topdown_bounds: [
    'estimate',
    'Estimates, not measurements: each hatched bar is an interval that ' +
        'contains the share, from exact counts and the limits of the pipeline.'
  ],
};

function nodeFill(k) {
  const [colour, kind] = NODE_FILLS[k % NODE_FILLS.length];
  return kind === 'solid' ? null : textured(colour, kind);
}

// The label of a row on its left, or above its bar if the window is narrow.
function rowLabel(group, stage, geometry, y) {
  const text = fitted(stage.label, geometry.labelWidth - 8);
  if (geometry.stacked)
    group.append(label(0, y + 12, text));
  else
    group.append(label(geometry.labelWidth - 8, y + 15, text, {'text-anchor': 'end'}));
  const share = percent(stage.share);
  if (geometry.stacked) {
    group.append(label(geometry.width, y + 12, share, {'text-anchor': 'end', class: 'number'}));
  } else {
    group.append(label(geometry.width, y + 15, share, {'text-anchor': 'end', class: 'number'}));
  }
}

function rowGeometry(width) {
  const stacked = width < 560;
  const labelWidth = stacked ? width - 60 : Math.min(230, width * 0.25);
  return {
    width,
    stacked,
    labelWidth,
    left: stacked ? 0 : labelWidth,
    right: stacked ? width : width - 62,
    bar: stacked ? 18 : 3,
    height: stacked ? 38 : 24
  };
}

function stackedRow(group, nodes, geometry, y) {
  const x = (v) => geometry.left + v * (geometry.right - geometry.left);
  let at = 0;
  LEVEL_1.forEach((name, k) => {
    const value = nodes.get(name);
    if (!isNumber(value)) return;
    group.append(rect(
        x(at), y + geometry.bar, x(at + value) - x(at), 16,
        {fill: nodeFill(k), class: `node-${k}`, 'data-node': name}));
    at += value;
  });
}

// A column for each node, and a gap before the parts of a node.
function columnsOf(names, geometry) {
  const gap = names.some((name) => PARTS_OF_MEMORY.includes(name)) && names.includes('Retiring') ?
      Math.min(24, geometry.width * 0.03) :
      0;
  const first = names.findIndex((name) => PARTS_OF_MEMORY.includes(name));
  const column = (geometry.right - geometry.left - gap) / names.length;
  const leftOf = (k) => geometry.left + k * column + (first >= 0 && k >= first ? gap : 0);
  return {column, leftOf};
}

// "L1 L2": short names where a column is narrow.
const shortNode = (name) => words(name).replace(/ Bound$/, '').replace('Bad Speculation', 'Bad');

// Each interval between two end ticks, so that it does not look like a share from 0.
function intervalRow(group, nodes, names, geometry, y, hatched) {
  const {column, leftOf} = columnsOf(names, geometry);
  const bar = y + geometry.bar;
  names.forEach((name, k) => {
    const left = leftOf(k);
    const track = column - 10;
    const bound = nodes.get(name);
    group.append(rect(left, bar, track, 16, {class: 'track'}));
    if (!Array.isArray(bound) || !isNumber(bound[0]) || !isNumber(bound[1])) {
      if (track > textWidth(ABSENT) + 8) {
        group.append(label(left + 4, bar + 12, ABSENT, {class: 'tick'}));
      }
      return;
    }
    const [low, high] = bound.map((end) => left + Math.max(0, Math.min(1, end)) * track);
    const fillValue = hatched(name) ? textured(`node-${k % 4}`, 'hatch') : nodeFill(k);
    group.append(
        rect(
            low, bar + 3, high - low, 10,
            {fill: fillValue, class: `node-${k % 4}`, 'data-node': name}),
        line(low, bar, low, bar + 16, {class: `end line-node-${k % 4}`}),
        line(high, bar, high, bar + 16, {class: `end line-node-${k % 4}`}));
  });
}

function topdownPicture(profile, view) {
  const kinds = Object.keys(TOPDOWN_KINDS).filter((key) => profile.items.some((s) => s[key]));
  if (kinds.length === 0) return topdownAbsent(profile);
  const state = {kind: kinds[0], all: false, extra: null};
  // Without the nodes that no stage has.
  const namesOf = () => {
    const names = profile.stages.nodes[state.kind].names.filter(
        (name) => profile.items.some((stage) => Array.isArray(stage[state.kind]?.get(name))));
    const level = (name) => (PARTS_OF_MEMORY.includes(name) ? 1 : 0);
    return state.kind === 'tree' ? names.sort((a, b) => level(a) - level(b)) : names;
  };
  const shown = () => {
    const known = profile.items.filter((stage) => stage[state.kind]);
    known.sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
    const list = state.all ? known : known.slice(0, ROWS_SHOWN);
    if (state.extra !== null && !list.some((stage) => stage.index === state.extra)) {
      const extra = profile.items[state.extra];
      if (extra[state.kind]) list.push(extra);
    }
    return list;
  };
  const draw = (root, marks, width) => {
    const geometry = rowGeometry(width);
    const stacked = state.kind === 'topdown';
    let y = 0;
    if (!stacked) {
      const {column, leftOf} = columnsOf(namesOf(), geometry);
      namesOf().forEach(
          (name, k) => root.append(label(
              leftOf(k), 11,
              fitted(
                  fittedEnd([words(name), shortNode(name)], column - 8) || shortNode(name),
                  column - 8),
              {class: 'tick'})));
      y = 18;
    }
    const bases = profile.stages.nodes[state.kind].basis ?? {};
    const estimate = (name) => !/^(experiment|read|counted)/.test(String(bases[name] ?? '')) ||
        (state.kind !== 'tree' && !String(bases[name]).startsWith('experiment:'));
    for (const stage of shown()) {
      const group = svg('g', {class: 'row'}, rect(0, y, width, geometry.height, {class: 'hit'}));
      rowLabel(group, stage, geometry, y);
      if (stacked)
        stackedRow(group, stage.topdown, geometry, y);
      else
        intervalRow(group, stage[state.kind], namesOf(), geometry, y, estimate);
      root.append(group);
      marks.add(stage.index, group, () => {
        const facts = view.facts(stage.index);
        const nodes = [...stage[state.kind]]
                          .filter(([, value]) => value !== null)
                          .map(([name, value]) => [words(name), share(value)]);
        return {title: facts.title, lines: [...nodes, ...facts.lines.slice(0, 4)]};
      });
      y += geometry.height;
    }
    return y + 4;
  };
  const describe = () => {
    picture.caption.textContent = `${TOPDOWN_KINDS[state.kind][1]} The right column is the share ` +
        'of the step.';
  };
  const controls = [];
  if (kinds.length > 1) {
    controls.push(
        choice('source', kinds.map((key) => [key, TOPDOWN_KINDS[key][0]]), state.kind, (kind) => {
          state.kind = kind;
          describe();
          picture.fit(true);
        }));
  }
  if (profile.items.length > ROWS_SHOWN) {
    controls.push(choice(
        'stages', [[false, `${ROWS_SHOWN} costliest`], [true, `all ${profile.items.length}`]],
        false, (all) => {
          state.all = all;
          picture.fit(true);
        }));
  }
  const picture = new Picture(view, {
    id: 'topdown',
    title: kinds[0] === 'topdown_bounds' ? 'Top-Down bounds (estimate)' : 'Top-Down',
    caption: '',
    wide: true,
    draw,
    controls,
    legend: kinds.includes('topdown') ?
        LEVEL_1.map((name, k) => swatch(words(name), nodeFill(k), `node-${k}`)) :
        null,
    onChoose: (item) => {
      if (state.all || shown().some((stage) => stage.index === item)) return;
      state.extra = item;
      picture.fit(true);
    }
  });
  describe();
  return view.add(picture);
}

function topdownAbsent(profile) {
  const reasons = new Map();
  for (const stage of profile.items) {
    const reason = stage.topdown_bounds_reason;
    if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const texts = [...reasons].map(([reason, n]) => `no bounds for ${plural(n, 'stage')}: ${reason}`);
  return html(
      'section', {class: 'picture wide', id: 'topdown'}, html('h2', {}, 'Top-Down'),
      html(
          'p', {class: 'caption'},
          'n/a: the run has no Top-Down figures' +
              (texts.length > 0 ? ` (${texts.join('; ')}).` : '.')));
}
