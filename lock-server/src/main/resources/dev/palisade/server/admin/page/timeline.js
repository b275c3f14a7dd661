// Drawing of a lock's history: a row for each request, with its wait and its lease. The list below it says the same in words.
import {html, svg} from './dom.js';
import {clock, count} from './format.js';

// Drawn as wide as it is shown: scaled down to a phone its text could not be read.
const WIDE = {width: 720, left: 150, labelMax: 20, ticks: [0, 0.5, 1]};
const NARROW = {width: 340, left: 100, labelMax: 12, ticks: [0, 1]};
const PHONE = matchMedia('(max-width: 40rem)');
const ROW = 26;
const ROWS_MAX = 12;
const HELD = ['GRANTED', 'ACCEPTED', 'RECLAIMED'];
const WAITING = ['QUEUED', 'LAPSED', 'WITHDRAWN'];
const LOST = ['EXPIRED', 'ABANDONED', 'FORCE_RELEASED'];
const ENDED = ['RELEASED', 'LEFT', 'TIMED_OUT', 'DROPPED', ...LOST];

// Rows of {owner, bars: [{kind, from, to}]}, in the order in which they begin. A state lasts until the next entry of its grant.
export function rows(entries, now) {
  const grants = new Map();
  for (const entry of entries) {
    if (entry.what === 'RELEASE_REQUESTED') {
      continue;
    }
    const at = Number(entry.atEpochMillis);
    const row = grants.get(entry.grantId) ?? {owner: entry.owner, bars: []};
    grants.set(entry.grantId, row);
    const last = row.bars.at(-1);
    const isOpen = last && last.to === undefined;
    if (ENDED.includes(entry.what)) {
      if (isOpen) {
        last.to = at;
        last.kind = LOST.includes(entry.what) && last.kind === 'lease' ? 'lost' : last.kind;
      }
    } else {
      const kind = HELD.includes(entry.what) ? 'lease' : WAITING.includes(entry.what) ? 'wait' : last?.kind ?? 'wait';
      if (isOpen && last.kind === kind) {
        continue;
      }
      if (isOpen) {
        last.to = at;
      }
      row.bars.push({kind, from: at, to: undefined});
    }
  }
  const drawn = [...grants.values()].filter(row => row.bars.length > 0);
  for (const row of drawn) {
    for (const bar of row.bars) {
      bar.to ??= now;
    }
  }
  return drawn;
}

// As the element bdi, which an SVG and an attribute cannot have.
const isolated = text => `\u2068${text}\u2069`;

function summary(drawn) {
  return drawn.map(row => `${isolated(row.owner || 'a client')}: ` +
      row.bars.map(bar => `${{lease: 'held', wait: 'waited', lost: 'held and lost'}[bar.kind]} ` +
          `from ${clock(bar.from)} to ${clock(bar.to)}`).join(', ')).join('; ');
}

export function timeline(entries, now) {
  const all = rows(entries, now);
  const drawn = all.slice(-ROWS_MAX);
  if (drawn.length === 0) {
    return null;
  }
  const {width, left, labelMax, ticks: parts} = PHONE.matches ? NARROW : WIDE;
  const from = Math.min(...drawn.flatMap(row => row.bars.map(bar => bar.from)));
  const to = Math.max(from + 1_000, ...drawn.flatMap(row => row.bars.map(bar => bar.to)));
  const x = at => left + (at - from) / (to - from) * (width - left - 12);
  const height = drawn.length * ROW + 30;
  const bars = drawn.flatMap((row, index) => [
    svg('text', {x: 8, y: index * ROW + 20},
        row.owner.length > labelMax ? isolated(row.owner.slice(0, labelMax - 1)) + '…' : row.owner || 'a client'),
    ...row.bars.map(bar => svg('rect', {
      class: bar.kind, x: x(bar.from), y: index * ROW + 7, rx: 3, height: ROW - 8, width: Math.max(3, x(bar.to) - x(bar.from)),
    })),
  ]);
  const ticks = parts.map(part => {
    const at = from + part * (to - from);
    return [
      svg('line', {class: 'grid', x1: x(at), x2: x(at), y1: 4, y2: height - 22}),
      svg('text', {class: 'axis', x: x(at), y: height - 6, 'text-anchor': ['start', 'middle', 'end'][part * 2]}, clock(at)),
    ];
  });
  return html('section', {'aria-label': 'Timeline'},
      html('h3', {}, 'Timeline'),
      svg('svg', {class: 'timeline', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summary(drawn)}, ticks.flat(), bars),
      html('p', {class: 'legend'},
          html('span', {}, html('i', {class: 'lease'}), 'held'),
          html('span', {}, html('i', {class: 'lost'}), 'held, and lost'),
          html('span', {}, html('i', {class: 'wait'}), 'waited'),
          all.length > drawn.length ? html('span', {}, count(all.length - drawn.length, 'older request') + ' not drawn') : null));
}
