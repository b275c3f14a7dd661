
// ---- leases and faults to scale: bars and marks in lanes
const events = data.events;
const START = events.length ? events[0].at : 0;
const ms = nanos => (nanos - START) / 1e6;
// A little more, so that the last thing can be seen.
const END = Math.max(1, events.length ? ms(events[events.length - 1].at) * 1.02 : 1);
const short = token => String(token).length > data.digits + 1 ? '...' + String(token).slice(-data.digits) : String(token);
const lanes = new Map();
function lane(kind, name) {
  const key = kind + ' ' + name;
  if (!lanes.has(key)) lanes.set(key, { kind, name, bars: [], marks: [], rows: 1 });
  return lanes.get(key);
}
const leases = new Map(), downs = new Map(), refusals = [];
const said = e => Object.entries(e).filter(([k]) => !['client', 'event', 'at', 'sha256'].includes(k))
  .map(([k, v]) => k + ': ' + (['asked', 'sent', 'until', 'answered'].includes(k) ? ms(v).toFixed(1) + ' ms' : typeof v === 'object' ? JSON.stringify(v) : v)).join(', ');
const told = e => seconds(ms(e.at)) + '  ' + e.client + '  ' + e.event + '  ' + said(e);
function end(grant, at, how) { const l = leases.get(grant); if (l && !l.ended) { l.ended = ms(at); l.how = how; } }
function mark(e, kind, text) {
  const m = { t: ms(e.at), kind, text: text || told(e), e };
  if (e.lock) lane('lock', e.lock).marks.push(m);
  if (e.client !== 'run') lane('client', e.client).marks.push(m);
  return m;
}
for (const e of events) switch (e.event) {
  case 'granted': leases.set(e.grant, { e, from: ms(e.at), until: ms(e.until || e.at), ended: 0, how: 'no end is known' }); break;
  case 'valid': case 'granted-again': { const l = leases.get(e.grant); if (l) l.until = Math.max(l.until, ms(e.until)); break; }
  case 'releasing': end(e.grant, e.at, 'released'); break;
  case 'lost': end(e.grant, e.at, 'lost: ' + e.reason); break;
  case 'read': case 'acknowledged': mark(e, 'tick'); break;
  case 'refused': case 'read-failed': if (e.reason !== undefined) {
    const stale = e.reason === 'TOKEN_STALE', m = mark(e, stale ? 'bad' : 'other');
    if (stale) refusals.push(m);
  } break;
  case 'unknown': mark(e, 'unsure'); break;
  case 'forged': case 'operated': mark(e, 'admin'); break;
  case 'fault-began': case 'down': downs.set((e.number || '') + e.who + (e.fault || ''), e); break;
  case 'fault-ended': case 'up': {
    const key = (e.number || '') + e.who + (e.fault || ''), b = downs.get(key); if (!b) break;
    downs.delete(key); fault(b, e.at); break;
  }
}
for (const b of downs.values()) fault(b, START + END * 1e6);
function fault(b, until) {
  const what = b.fault || '', kind = /KILL/.test(what) ? 'down' : /PAUSE|STOP/.test(what) ? 'pause' : /CUT/.test(what) ? 'cut' : 'link';
  const service = ['server', 'server 2', 'redis', 'objects'].includes(b.who);
  lane(service ? 'service' : 'client', b.who).bars.push({ from: ms(b.at), until: Math.max(ms(until), ms(b.at)), fault: kind, text: what + ' ' + b.who + ' ' + (b.how || '') + ', ' + seconds(ms(b.at)) + ' to ' + seconds(ms(until)) });
}
for (const l of leases.values()) {
  // Believed in until its client let go of it or, at the latest, until its own deadline; a stopped client notices later.
  const until = Math.max(l.from, Math.min(l.until, l.ended || Infinity)), late = l.ended > until ? l.ended : 0;
  const bar = { from: l.from, until, late, token: l.e.token, shared: l.e.mode === 'SHARED', text: l.e.client + ' holds ' + l.e.lock + ' (' + l.e.mode + '), token ' + l.e.token + ', grant ' + l.e.grant + ', ' + seconds(l.from) + ' to ' + seconds(until) + ', ' + l.how, label: l.e.client };
  lane('lock', l.e.lock).bars.push(bar);
  if (l.e.client !== 'run') lane('client', l.e.client).bars.push(Object.assign({}, bar, { label: l.e.lock }));
}
const order = { service: 0, lock: 1, client: 2 };
const all = [...lanes.values()].sort((a, b) => order[a.kind] - order[b.kind] || a.name.localeCompare(b.name, 'en', { numeric: true }));
// Leases of one lane that overlap stand below each other.
for (const l of all) {
  const ends = [];
  l.bars.sort((a, b) => a.from - b.from);
  for (const b of l.bars) if (!b.fault) {
    let row = ends.findIndex(t => t <= b.from);
    if (row < 0) row = ends.length < 6 ? ends.length : 5;
    ends[row] = Math.max(b.until, b.late); b.row = row;
  }
  l.rows = Math.max(1, ends.length);
  l.longest = l.bars.reduce((most, b) => Math.max(most, b.until - b.from, b.late - b.from), 0);
  l.marks.sort((a, b) => a.t - b.t);
}
refusals.sort((a, b) => a.t - b.t);

const view = { from: 0, until: END };
const EDGE = 2, AXIS = 20, HEAD = 17, MARKS = 15;
let chosen = null;
const wide = () => Math.max(200, $('scale').clientWidth);
const xOf = t => EDGE + (t - view.from) / (view.until - view.from) * (wide() - 2 * EDGE);
function shownLanes() {
  const words = $('filter').value.trim().split(/\s+/).filter(Boolean);
  return all.filter(l => (l.kind === 'service' || (l.kind === 'lock' ? $('locks').checked : $('clients').checked))
    && (!words.length || words.some(w => l.name === w || l.name.startsWith(w))));
}
function first(list, key, value) { let lo = 0, hi = list.length; while (lo < hi) { const mid = (lo + hi) >> 1; if (list[mid][key] < value) lo = mid + 1; else hi = mid; } return lo; }
function drawLanes() {
  const svg = $('lanes'), used = drawn.lanes;
  used.clear();
  if (!$('scale').open) { legend(); return; }
  svg.replaceChildren();
  const width = wide(), span = view.until - view.from;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 6e4, 12e4, 3e5, 6e5].find(s => s / span * width >= 76) || 12e5;
  const grid = add(svg, 'g', {});
  let y = AXIS;
  for (const l of shownLanes()) {
    const row = Math.max(20, BAR / l.rows), height = l.rows * row;
    add(svg, 'text', { x: EDGE, y: y + 13, class: 'head' }, l.name);
    y += HEAD;
    const cells = new Map();
    for (let i = first(l.bars, 'from', view.from - l.longest); i < l.bars.length && l.bars[i].from <= view.until; i++) {
      const b = l.bars[i];
      if (b.fault || Math.max(b.until, b.late) < view.from) continue;
      const x0 = Math.max(xOf(b.from), 0), x1 = Math.min(xOf(b.until), width), w = Math.max(1.5, x1 - x0 - 1), top = y + b.row * row;
      // As many as can be told apart.
      const cell = b.row + ' ' + Math.round(x0 / 2);
      if (w < 2 && cells.has(cell)) continue;
      cells.set(cell, true);
      const kind = b.shared ? 'shared' : 'lease', g = add(svg, 'g', {});
      add(g, 'rect', { class: kind, x: x0, y: top, width: w, height: row - 2 }); used.add(kind);
      if (b.late) { add(g, 'rect', { class: 'over', x: x1 + 1, y: top + 1, width: Math.max(1, Math.min(xOf(b.late), width) - x1 - 2), height: row - 4 }); used.add('over'); }
      const label = b.label + ' ' + short(b.token);
      if (measure(label) + 8 < w) add(g, 'text', { x: x0 + 4, y: top + row / 2 + 3, class: 'bar' }, label);
      g.onclick = () => pick(b.text, b);
    }
    for (let i = first(l.bars, 'from', view.from - l.longest); i < l.bars.length && l.bars[i].from <= view.until; i++) {
      const b = l.bars[i];
      if (!b.fault || b.until < view.from) continue;
      const x0 = Math.max(xOf(b.from), 0), w = Math.max(3, Math.min(xOf(b.until), width) - x0);
      const shape = b.fault === 'pause' ? add(svg, 'path', { class: 'pause', d: hatch(x0, y, w, height) }) : add(svg, 'rect', { class: b.fault, x: x0, y: l.kind === 'service' ? y : y + height - 6, width: w, height: l.kind === 'service' ? height - 2 : 6 });
      used.add(b.fault); shape.onclick = () => pick(b.text, b);
    }
    y += height;
    const until = first(l.marks, 't', view.until + 1e-9), taken = new Set();
    let ticks = '';
    for (let i = first(l.marks, 't', view.from); i < until; i++) {
      const m = l.marks[i], x = xOf(m.t), cell = m.kind + Math.round(x / (m.kind === 'tick' ? 2 : 6));
      if (taken.has(cell)) continue;
      taken.add(cell); used.add(m.kind);
      if (m.kind === 'tick') { ticks += 'M' + x.toFixed(1) + ' ' + (y + 1) + 'V' + (y + 9); continue; }
      const d = m.kind === 'admin' ? 'M' + x + ' ' + (y + 1) + 'L' + (x + 5) + ' ' + (y + 6) + 'L' + x + ' ' + (y + 11) + 'L' + (x - 5) + ' ' + (y + 6) + 'Z' : cross(x, y + 6, 5);
      add(svg, 'path', { class: 'mark ' + m.kind, d }).onclick = () => pick(m.text, m);
    }
    if (ticks) add(svg, 'path', { class: 'tick', d: ticks });
    y += MARKS;
  }
  for (let t = Math.ceil(view.from / step) * step; t <= view.until; t += step) {
    const x = xOf(t), label = step >= 1000 ? t / 1000 + ' s' : seconds(t);
    add(grid, 'line', { class: 'grid', x1: x, x2: x, y1: AXIS - 4, y2: y });
    if (x + 3 + measure(label) < width) add(grid, 'text', { x: x + 3, y: 12, class: 'dim' }, label);
  }
  if (chosen) { const x = xOf(chosen.t === undefined ? chosen.from : chosen.t); add(svg, 'path', { class: 'chosen', d: 'M' + x + ' ' + AXIS + 'V' + y }); }
  svg.setAttribute('width', width); svg.setAttribute('height', y);
  $('window').textContent = seconds(view.from) + ' to ' + seconds(view.until) + ' of ' + seconds(END);
  overview(width); legend(); eventList();
}
function overview(width) {
  const svg = $('all'), x = t => EDGE + t / END * (width - 2 * EDGE);
  svg.replaceChildren(); svg.setAttribute('width', width); svg.setAttribute('height', 34);
  for (const l of all) for (const b of l.bars) if (b.fault) add(svg, 'rect', { class: b.fault === 'pause' ? 'down' : b.fault, x: x(b.from), y: l.kind === 'service' ? 3 : 12, width: Math.max(1, x(b.until) - x(b.from)), height: 7, opacity: .6 });
  let path = ''; for (const r of refusals) path += 'M' + x(r.t).toFixed(1) + ' 23V31';
  add(svg, 'path', { class: 'mark bad', d: path });
  add(svg, 'rect', { class: 'line', x: x(view.from), y: 1, width: Math.max(3, x(view.until) - x(view.from)), height: 32 });
}
function pick(text, thing) { chosen = thing; $('picked').textContent = text; drawLanes(); }
function show(from, until) {
  const span = Math.min(Math.max(until - from, 2), END), at = Math.min(Math.max(0, from), END - span);
  view.from = at; view.until = at + span; drawLanes();
}
const middle = () => (view.from + view.until) / 2;
const zoom = (by, around) => { const span = (view.until - view.from) * by, share = (around - view.from) / (view.until - view.from); show(around - span * share, around + span * (1 - share)); };
// What has to do with a broken property. Token 0 is that of every call without a sequencer, and says nothing.
function about(violation) {
  const words = new Set(violation.split(/[\s,;()']+/));
  return events.filter(e => (e.token && words.has(String(e.token))) || words.has(e.op));
}
// Where most refusals are close together; without any, the first broken property or the first fault.
function interesting() {
  const span = Math.min(END, 20000);
  if (END <= 25000) return show(0, END);
  let best = 0, at = 0;
  for (let i = 0, j = 0; j < refusals.length; j++) { while (refusals[j].t - refusals[i].t > span * .6) i++; if (j - i + 1 > best) { best = j - i + 1; at = refusals[i].t; } }
  if (!best) {
    const broken = data.violations.map(about).find(found => found.length), faults = all.flatMap(l => l.bars).filter(b => b.fault).map(b => b.from);
    at = broken ? ms(broken[0].at) : faults.length ? faults.reduce((a, b) => Math.min(a, b)) : 0;
  }
  show(at - span * .35, at + span * .65);
}
