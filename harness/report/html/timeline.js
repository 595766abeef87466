// One step as a timeline: the stages in their order, each as long as its median time.

function timelinePicture(profile, view) {
  const timed = profile.items.filter((stage) => stage.seconds > 0);
  const groups = [...GROUPS, 'other'].filter((g) => timed.some((stage) => stage.group === g));
  const total = timed.reduce((sum, stage) => sum + stage.seconds, 0);
  const draw = (root, marks, width) => {
    if (timed.length === 0) {
      root.append(label(0, 16, 'n/a: no stage has a time.'));
      return 24;
    }
    const narrow = width < 560;
    const left = narrow ? 0 : 84;
    const lane = narrow ? 46 : 34;
    const x = (seconds) => left + (width - left - 2) * seconds / total;
    const bottom = groups.length * lane;
    axisBelow(root, total, x, bottom, 0, timeText);
    groups.forEach(
        (group, k) => root.append(
            narrow ?
                label(0, k * lane + 12, group, {class: 'tick'}) :
                label(left - 10, k * lane + 20, group, {class: 'tick', 'text-anchor': 'end'})));
    let at = 0;
    for (const stage of timed) {
      const long = x(at + stage.seconds) - x(at);
      const y = groups.indexOf(stage.group) * lane + (narrow ? 17 : 4);
      const box = rect(x(at), y, Math.max(0.6, long), 24);
      const text = fittedEnd([stage.label, String(stage.name)], long - 8);
      const group = svg(
          'g',
          {class: `block group-${stage.group} ${long < 4 ? 'thin' : ''} ${boxClass(stage, long)}`},
          box);
      if (text) group.append(label(x(at) + 4, y + 16, text, {class: `on-group-${stage.group}`}));
      root.append(group);
      marks.add(stage.index, group);
      at += stage.seconds;
    }
    return bottom + 20;
  };
  const absent = profile.items.length - timed.length;
  return view.add(new Picture(view, {
    id: 'timeline',
    title: 'One step',
    wide: true,
    draw,
    caption: 'Every stage in its order, as long as its median time; the axis adds the medians up.' +
        (absent > 0 ? ` Without a time, and not drawn: ${plural(absent, 'stage')}.` : '')
  }));
}
