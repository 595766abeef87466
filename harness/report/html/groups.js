// The step by pass: forward, backward, update, reorders, loss, and what no stage explains.

function groupsPicture(profile, view) {
  const list =
      (profile.groups ??
       []).map((group) => ({
                 ...group,
                 time: group.seconds ??
                     (isNumber(group.sum_of_medians) ? {median: group.sum_of_medians} : null)
               }));
  if (list.length === 0) return null;
  if (isNumber(profile.remainder_seconds)) {
    list.push({name: 'remainder', time: {median: profile.remainder_seconds}, remainder: true});
  }
  const total = profile.secondsForShares;
  const most = Math.max(...list.flatMap((g) => [g.time?.median ?? 0, g.time?.p90 ?? 0]));
  const draw = (root, marks, width) => {
    const narrow = width < 560;
    const left = narrow ? 0 : 92;
    const right = narrow ? width : width - 286;
    const height = narrow ? 50 : 32;
    const x = (seconds) => left + (right - left) * Math.max(0, seconds) / most;
    list.forEach((group, k) => {
      const y = k * height;
      const colour = GROUPS.includes(group.name) ? group.name : 'other';
      const bar = y + (narrow ? 20 : 6);
      const seconds = group.time?.median;
      const parts = [
        timeText(seconds),
        isNumber(total) && isNumber(seconds) && total > 0 ? percent(seconds / total) : ABSENT,
        group.remainder ? '' : `${digits(group.gflops)} GFLOP/s`
      ];
      const row = svg(
          'g', {class: `row group-${colour}`}, rect(0, y, width, height, {class: 'hit'}),
          isNumber(seconds) && most > 0 ? rect(x(0), bar, x(seconds) - x(0), 18, {class: 'bar'}) :
                                          null);
      if (group.time && isNumber(group.time.min) && isNumber(group.time.p90)) {
        row.append(
            line(x(group.time.min), bar + 9, x(group.time.p90), bar + 9, {class: 'whisker'}));
      }
      if (narrow) {
        const figures = parts.slice(0, 2).join(', ');
        row.append(
            label(0, y + 14, fitted(group.name, width - textWidth(figures) - 12)),
            label(width, y + 14, figures, {'text-anchor': 'end', class: 'number'}));
      } else {
        row.append(label(left - 10, y + 19, fitted(group.name, left - 12), {'text-anchor': 'end'}));
        parts.forEach(
            (part, i) => row.append(label(
                width - [196, 116, 0][i], y + 19, part, {'text-anchor': 'end', class: 'number'})));
      }
      root.append(row);
      marks.add(
          null, row,
          () => ({
            title: group.name,
            lines: [
              [group.seconds || group.remainder ? 'time' : 'sum of medians', timeText(seconds)],
              ['of the step', parts[1]], ['min to p90', interval(group.time)],
              ['n', count(group.time?.n)], ['stages', count(group.stages)],
              ['rate', isNumber(group.gflops) ? `${digits(group.gflops)} GFLOP/s` : ABSENT],
              ['of peak', percent(group.peak_fraction)]
            ]
          }));
    });
    return list.length * height;
  };
  return view.add(new Picture(view, {
    id: 'groups',
    title: 'By pass',
    draw,
    caption:
        'Median time of each pass in a step; the thin line is the interval from min to p90. The ' +
        'remainder is the median of the step minus these medians.'
  }));
}
