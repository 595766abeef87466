// The step as a map: the area of a stage is its time, its shade the share of its ceiling.

// Squarified (Bruls, Huizing, van Wijk, "Squarified Treemaps", 2000): places boxes with the areas
// `values`, largest first, into the rectangle.
function squarified(values, x, y, width, height) {
  const total = values.reduce((a, b) => a + b, 0);
  const scale = total > 0 ? width * height / total : 0;
  const areas = values.map((v) => v * scale);
  const boxes = [];
  let at = 0;
  const worst = (sum, low, high, side) =>
      Math.max(side * side * high / (sum * sum), sum * sum / (side * side * low));
  while (at < areas.length) {
    const side = Math.min(width, height);
    let sum = areas[at];
    let end = at + 1;
    let ratio = worst(sum, areas[at], areas[at], side);
    while (end < areas.length) {
      const next = worst(sum + areas[end], areas[end], areas[at], side);
      if (next > ratio) break;
      ratio = next;
      sum += areas[end];
      end += 1;
    }
    const depth = side > 0 ? sum / side : 0;
    let along = 0;
    for (let i = at; i < end; i += 1) {
      const length = depth > 0 ? areas[i] / depth : 0;
      boxes.push(
          width >= height ? {x, y: y + along, width: depth, height: length} :
                            {x: x + along, y, width: length, height: depth});
      along += length;
    }
    if (width >= height) {
      x += depth;
      width -= depth;
    } else {
      y += depth;
      height -= depth;
    }
    at = end;
  }
  return boxes;
}

const SHADES = [0, 0.2, 0.4, 0.6, 0.8];

const shadeOf = (fraction) => SHADES.filter((least) => fraction >= least).length - 1;

function treemapPicture(profile, view) {
  const timed = profile.items.filter((stage) => stage.seconds > 0);
  timed.sort((a, b) => b.seconds - a.seconds);
  const draw = (root, marks, width) => {
    if (timed.length === 0) {
      root.append(label(0, 16, 'n/a: no stage has a time.'));
      return 24;
    }
    const height = Math.max(280, Math.min(460, width * 0.62));
    const boxes = squarified(timed.map((stage) => stage.seconds), 0, 0, width, height);
    timed.forEach((stage, k) => {
      const box = boxes[k];
      const known = isNumber(stage.peak_fraction);
      const shade = known ? `shade-${Math.max(0, shadeOf(stage.peak_fraction))}` : 'shade-none';
      const group =
          svg('g', {class: `block ${shade} ${boxClass(stage, Math.min(box.width, box.height))}`},
              rect(
                  box.x, box.y, box.width, box.height,
                  {fill: known ? null : textured('shade-none', 'dots')}));
      const text =
          box.height > 18 ? fittedEnd([stage.label, String(stage.name)], box.width - 8) : '';
      if (text) group.append(label(box.x + 4, box.y + 14, text));
      if (text && box.height > 34) {
        const share = percent(stage.share);
        const second = [
          known ? `${share}, ${percent(stage.peak_fraction)} of peak` : share, share
        ].find((one) => textWidth(one) <= box.width - 8);
        if (second) group.append(label(box.x + 4, box.y + 29, second, {class: 'small'}));
      }
      root.append(group);
      marks.add(stage.index, group);
    });
    return height;
  };
  const name = (k) =>
      (k + 1 < SHADES.length ? `${100 * SHADES[k]} to ${100 * SHADES[k + 1]} %` :
                               `${100 * SHADES[k]} % and more`);
  return view.add(new Picture(view, {
    id: 'treemap',
    title: 'Map of the step',
    draw,
    caption:
        'The area of a stage is its time, and its shade the share of its ceiling that it reaches; ' +
        `dotted: no valid ceiling.${dashedNote(profile.items)}`,
    legend: [
      ...SHADES.map((_, k) => swatch(name(k), null, `shade-${k}`)),
      swatch(ABSENT, textured('shade-none', 'dots'), 'shade-none')
    ]
  }));
}
