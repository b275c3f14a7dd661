'use strict';
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const many = (n, one) => n.toLocaleString('en') + ' ' + one + (n === 1 ? '' : 's');
const seconds = ms => (ms / 1000).toFixed(3) + ' s';

// ---- shapes
const SVG = $('diagram').namespaceURI, FONT = '12px system-ui, sans-serif', BAR = 40;
const pen = document.createElement('canvas').getContext('2d');
const measure = (text, bold) => { pen.font = (bold ? '600 ' : '') + FONT; return pen.measureText(text).width; };
function add(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
/** Lines at 45 degrees within a rectangle. */
function hatch(x, y, w, h) {
  let path = '';
  for (let s = 6; s < w + h; s += 7) {
    const x1 = Math.max(0, s - h), x2 = Math.min(w, s);
    path += 'M' + (x + x1).toFixed(1) + ' ' + (y + s - x1).toFixed(1) + 'L' + (x + x2).toFixed(1) + ' ' + (y + s - x2).toFixed(1);
  }
  return path;
}
const cross = (x, y, r) => 'M' + (x - r) + ' ' + (y - r) + 'L' + (x + r) + ' ' + (y + r) + 'M' + (x + r) + ' ' + (y - r) + 'L' + (x - r) + ' ' + (y + r);
function arrow(from, to, y) {
  const back = to > from ? -6 : 6;
  return 'M' + from + ' ' + y + 'L' + to + ' ' + y + 'M' + (to + back) + ' ' + (y - 4) + 'L' + to + ' ' + y + 'L' + (to + back) + ' ' + (y + 4);
}
/** Breaks a text into lines of at most that width; a word that is wider is cut. */
function wrap(text, width, bold) {
  const lines = [];
  let line = '';
  for (let word of text.split(' ')) {
    while (measure(word, bold) > width && word.length > 2) {
      let cut = word.length - 1;
      while (cut > 1 && measure(word.slice(0, cut), bold) > width) cut--;
      if (line) lines.push(line);
      lines.push(word.slice(0, cut)); line = ''; word = word.slice(cut);
    }
    if (line && measure(line + ' ' + word, bold) > width) { lines.push(line); line = word; } else line = line ? line + ' ' + word : word;
  }
  return line ? [...lines, line] : lines;
}

// ---- the legend: what has been drawn, by the classes it was drawn with
const LEGEND = {
  lease: ['lease', g => add(g, 'rect', { class: 'lease', x: 0, y: 1, width: 18, height: 12 })],
  shared: ['SHARED lease', g => add(g, 'rect', { class: 'shared', x: 0, y: 1, width: 18, height: 12 })],
  over: ['lease over, its client does not know', g => add(g, 'rect', { class: 'over', x: 1, y: 2, width: 16, height: 10 })],
  pause: ['process stopped', g => add(g, 'path', { class: 'pause', d: hatch(0, 1, 18, 12) })],
  data: ['data and its value', g => add(g, 'rect', { class: 'data', x: .5, y: 1.5, width: 17, height: 11 })],
  ok: ['applied', g => add(g, 'path', { class: 'line reply ok', d: 'M0 7L18 7' })],
  tick: ['applied', g => add(g, 'path', { class: 'tick', d: 'M6 2V12M12 2V12' })],
  bad: ['refused as stale', g => add(g, 'path', { class: 'mark bad', d: cross(9, 7, 5) })],
  lost: ['late write applied', g => add(g, 'path', { class: 'line bad', d: arrow(0, 18, 7) })],
  other: ['refused for another reason', g => add(g, 'path', { class: 'mark other', d: cross(9, 7, 5) })],
  unsure: ['outcome unknown', g => add(g, 'path', { class: 'mark unsure', d: cross(9, 7, 5) })],
  admin: ['forged call, operator', g => add(g, 'path', { class: 'mark admin', d: 'M9 2L14 7L9 12L4 7Z' })],
  link: ['link frozen or slow', g => add(g, 'rect', { class: 'link', x: 0, y: 1, width: 18, height: 12 })],
  cut: ['link cut', g => add(g, 'rect', { class: 'cut', x: 0, y: 1, width: 18, height: 12 })],
  down: ['killed, down', g => add(g, 'rect', { class: 'down', x: 0, y: 1, width: 18, height: 12 })],
};
const drawn = { diagram: new Set(), lanes: new Set() };
function legend() {
  const used = new Set([...drawn.diagram, ...drawn.lanes]), at = $('legend');
  if (used.has('ok')) used.delete('tick');
  at.replaceChildren();
  for (const [kind, [text, swatch]] of Object.entries(LEGEND)) if (used.has(kind)) {
    const entry = document.createElement('span'), svg = add(entry, 'svg', { width: 18, height: 14, 'aria-hidden': 'true' });
    entry.setAttribute('role', 'listitem'); entry.dataset.kind = kind;
    swatch(svg); entry.append(text); at.append(entry);
  }
}

// ---- the sequence diagram
const CALLS = ['APPLIED', 'READ', 'REFUSED', 'LOST_UPDATE'];
function drawDiagram(d) {
  const svg = $('diagram'), used = drawn.diagram, width = Math.min($('call').clientWidth, 860);
  const TIME = 58, LINE = 16, callers = d.callers.length;
  const middles = [TIME + BAR / 2], last = width - BAR / 2 - 2;
  const dataAt = callers > 1 ? (middles[0] + last) / 2 : Math.min(last, middles[0] + 300);
  if (callers > 1) middles.push(last);
  const slot = dataAt - middles[0] - BAR - 14;
  const centre = caller => (middles[caller] + dataAt) / 2;
  svg.replaceChildren(); used.clear(); used.add('data');
  const bars = add(svg, 'g', {}), steps = add(svg, 'g', {});
  const labels = (group, lines, x, y, kind, anchor) => lines.forEach((line, i) => add(group, 'text', { x, y: y + i * LINE + 12, class: kind, 'text-anchor': anchor }, line));

  let y = 4;
  const heads = d.callers.map(name => wrap(name, BAR + slot / 2 - 4, true)), head = wrap(d.lock, Math.max(BAR, slot - 8), true);
  labels(steps, heads[0], TIME, y, 'head', 'start');
  labels(steps, head, dataAt, y, 'head', 'middle');
  if (callers > 1) labels(steps, heads[1], last + BAR / 2, y, 'head', 'end');
  y += Math.max(head.length, ...heads.map(lines => lines.length)) * LINE + 6;
  const top = y;
  const state = d.callers.map(() => ({}));
  const lease = (caller, until) => {
    const s = state[caller];
    if (s.lease === undefined) return;
    add(bars, 'rect', { class: s.over ? 'over' : 'lease', x: middles[caller] - BAR / 2, y: s.lease, width: BAR, height: Math.max(2, until - s.lease) });
    used.add(s.over ? 'over' : 'lease'); s.lease = undefined;
  };
  const pause = (caller, until) => {
    const s = state[caller];
    if (s.pause === undefined) return;
    s.hatches = (s.hatches || []).concat([[middles[caller] - BAR / 2, s.pause, BAR, until - s.pause]]); s.pause = undefined; used.add('pause');
  };
  let before = d.steps[0].millis;
  for (const step of d.steps) {
    const call = CALLS.includes(step.kind), bad = step.kind === 'REFUSED' || step.kind === 'LOST_UPDATE', from = middles[step.caller], side = dataAt > from ? 1 : -1;
    // A long wait is a little longer on the page too.
    y += Math.min(26, 4 + 8 * Math.log10(1 + Math.max(0, step.millis - before) / 10)); before = step.millis;
    const g = add(steps, 'g', { class: 'step', tabindex: 0, role: 'listitem', 'data-kind': step.kind, 'aria-label': seconds(step.millis) + ', ' + d.callers[step.caller] + ' ' + step.text + (step.reply ? ': ' + step.reply : '') });
    const focus = add(g, 'rect', { class: 'focus', x: 1, y: y - 1, width: width - 2, height: 1 }), started = y;
    add(g, 'text', { x: 0, y: y + 12, class: 'dim' }, seconds(step.millis));
    const near = from + side * (BAR / 2 + 4), far = dataAt - side * BAR / 2, lost = step.kind === 'LOST_UPDATE';
    const lines = wrap(step.text, slot, step.kind === 'OVER');
    labels(g, lines, call ? centre(step.caller) : near + side * 3, y, step.kind === 'OVER' ? 'bad' : '', call ? 'middle' : side > 0 ? 'start' : 'end');
    y += lines.length * LINE;
    if (call) {
      y += 7;
      add(g, 'path', { class: 'line' + (lost ? ' bad' : ''), d: arrow(near, far - side * 2, y) });
      y += 4;
      const tone = bad ? 'bad' : 'ok', reply = wrap(step.reply, slot, true);
      labels(g, reply, centre(step.caller), y, tone, 'middle');
      if (step.kind === 'REFUSED') { add(g, 'path', { class: 'mark bad', d: cross(dataAt, y + 8, 6) }); used.add('bad'); }
      if (step.value && measure(step.value, true) < BAR - 4) add(g, 'text', { x: dataAt, y: y + 12, class: lost ? 'bad' : 'head', 'text-anchor': 'middle' }, step.value);
      y += reply.length * LINE + 7;
      add(g, 'path', { class: 'line reply ' + tone, d: arrow(far, near, y) });
      used.add(lost ? 'lost' : bad ? 'bad' : 'ok');
      y += 8;
    } else y += 3;
    focus.setAttribute('height', y - started + 1);
    const s = state[step.caller], mid = started + 6;
    switch (step.kind) {
      case 'GRANTED': lease(step.caller, mid); s.over = false; s.lease = mid; break;
      case 'OVER': lease(step.caller, mid); s.over = true; s.lease = mid; break;
      case 'RELEASED': lease(step.caller, mid); break;
      case 'PAUSED': pause(step.caller, mid); s.pause = mid; break;
      case 'RESUMED': pause(step.caller, mid); break;
    }
  }
  y += 4;
  d.callers.forEach((name, caller) => {
    lease(caller, y); pause(caller, y);
    for (const at of state[caller].hatches || []) add(bars, 'path', { class: 'pause', d: hatch(...at) });
  });
  add(bars, 'rect', { class: 'data', x: dataAt - BAR / 2, y: top, width: BAR, height: y - top });
  svg.setAttribute('width', width); svg.setAttribute('height', y + 2); svg.setAttribute('viewBox', '0 0 ' + width + ' ' + (y + 2));
  legend();
}
