// The memory that is in use while each stage runs.

function memoryPicture(profile, view) {
  const memory = profile.memory;
  const live = memory?.live_bytes;
  if (!Array.isArray(live) || live.length === 0) return null;
  const most = Math.max(...live.filter(isNumber), 0);
  const draw = (root, marks, width) => {
    const height = 190;
    const frame = {left: 66, right: width - 2, top: 10, bottom: height - 24};
    const step = (frame.right - frame.left) / live.length;
    const y = (b) => frame.bottom - (frame.bottom - frame.top) * b / (most || 1);
    for (const value of byteTicks(most, 4)) {
      root.append(
          line(frame.left, y(value), frame.right, y(value), {class: 'grid'}),
          label(frame.left - 6, y(value) + 4, bytes(value), {class: 'tick', 'text-anchor': 'end'}));
    }
    live.forEach((value, i) => {
      if (!isNumber(value) || !profile.items[i]) return;
      const x = frame.left + i * step;
      const column =
          svg('g', {class: `block group-${profile.items[i].group}`},
              rect(x, frame.top, step, frame.bottom - frame.top, {class: 'hit'}),
              rect(x, y(value), step, frame.bottom - y(value), {class: 'bar'}));
      root.append(column);
      marks.add(
          i, column, () => ({
                       title: view.facts(i).title,
                       lines: [['in use', bytes(value)], ['of the largest', percent(value / most)]]
                     }));
    });
    root.append(
        label(frame.left, height - 6, 'first stage', {class: 'tick'}),
        label(frame.right, height - 6, 'last stage', {class: 'tick', 'text-anchor': 'end'}));
    return height;
  };
  return view.add(new Picture(view, {
    id: 'memory',
    title: 'Memory over the step',
    draw,
    caption:
        'Activations, gradients and saved values that are in use while each stage runs; at most ' +
        `${bytes(most)}, in a block of ${bytes(memory.transient_bytes)}. Parameters and states, ` +
        `${bytes(memory.persistent_bytes)}, are in use all the time.`
  }));
}
