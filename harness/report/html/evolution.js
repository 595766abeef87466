// The course over the iterations: one line for the step and one for each of the costliest stages,
// each in its own range.

function seriesRow(group, series, x, y, height) {
  const values = series.seconds.filter(isNumber);
  const low = Math.min(...values);
  const high = Math.max(...values);
  // Warm-up is slower: it is cut off at the top of the row, so that the measured line has the room.
  const place = (v) =>
      y + height - height * (high > low ? Math.max(0, Math.min(1, (v - low) / (high - low))) : 0.5);
  const path = (list, from) => {
    let text = '';
    let open = false;
    list.forEach((value, i) => {
      if (!isNumber(value)) {
        open = false;
        return;
      }
      text += `${open ? 'L' : 'M'}${round(x(from + i))} ${round(place(value))}`;
      open = true;
    });
    return text;
  };
  group.append(
      svg('path', {class: 'warmup-line', d: path(series.warmup, 0)}),
      svg('path', {class: 'series-line', d: path(series.seconds, series.warmup.length)}));
  return {low, high};
}

function evolutionPicture(profile, view) {
  const evolution = profile.evolution;
  if (!evolution || evolution.series.length === 0) return null;
  const step = evolution.series.filter((series) => series.stage === null);
  // A FAILED stage has no time.
  const others = evolution.series.filter(
      (series) => series.stage !== null && profile.items[series.stage]?.status !== 'FAILED');
  const state = {extra: null};
  const shown = () => {
    const list = [...step, ...others.slice(0, 10)];
    const extra = others.find((series) => series.stage === state.extra);
    return extra && !list.includes(extra) ? [...list, extra] : list;
  };
  const draw = (root, marks, width) => {
    const narrow = width < 560;
    const left = narrow ? 0 : Math.min(230, width * 0.25);
    const right = narrow ? width : width - 150;
    const height = narrow ? 56 : 34;
    const points = Math.max(...evolution.series.map((s) => s.warmup.length + s.seconds.length), 2);
    const x = (i) => left + (right - left) * i / (points - 1);
    let y = 0;
    for (const series of shown()) {
      if (!series.seconds.some(isNumber)) continue;
      const stage = series.stage === null ? null : profile.items[series.stage];
      const name = stage ? stage.label : 'step';
      const group =
          svg('g', {class: `row ${stage ? '' : 'total'}`},
              rect(0, y, width, height - 2, {class: 'hit'}));
      const {low, high} =
          seriesRow(group, series, x, y + (narrow ? 20 : 4), height - (narrow ? 28 : 12));
      const range = `${timeText(low)} to ${timeText(high)}`;
      if (narrow) {
        group.append(
            label(width, y + 13, range, {'text-anchor': 'end', class: 'number'}),
            label(0, y + 13, fitted(name, width - textWidth(range) - 12)));
      } else {
        group.append(
            label(left - 10, y + 20, fitted(name, left - 14), {'text-anchor': 'end'}),
            label(width, y + 20, range, {'text-anchor': 'end', class: 'number'}));
      }
      root.append(group);
      marks.add(series.stage, group, () => ({
                                       title: `${name}, by iteration`,
                                       lines: [
                                         ['range', range],
                                         ['steady points', count(series.seconds.length)],
                                         ['iterations per point', count(series.values_per_point)],
                                         ['warm-up points', count(series.warmup.length)]
                                       ]
                                     }));
      y += height;
    }
    return y;
  };
  const iterations = (name) => evolution.phases.find((phase) => phase.phase === name)?.iterations;
  const picture = new Picture(view, {
    id: 'evolution',
    title: 'By iteration',
    wide: true,
    draw,
    caption: `The step and its costliest stages over the iterations, each line in its own range, ` +
        'which is on the right. ' +
        `Dashed: warm-up (${count(iterations('warm-up'))} iterations); solid: measured ` +
        `(${count(iterations('steady'))}).`,
    onChoose: (item) => {
      if (shown().some((series) => series.stage === item)) return;
      state.extra = item;
      if (others.some((series) => series.stage === item)) picture.fit(true);
    }
  });
  return view.add(picture);
}
