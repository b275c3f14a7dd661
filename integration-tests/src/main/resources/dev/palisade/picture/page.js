
// ---- around them
const run = events.find(e => e.event === 'run') || {};
let current = 0;
document.title = data.headline;
$('title').textContent = data.title;
$('headline').textContent = data.headline;
$('facts').textContent = [run.seed === undefined ? '' : 'seed ' + run.seed, run.guard ? 'guard ' + run.guard : '', many(leases.size, 'lease'), many(data.refusals, 'late call') + ' refused', many(data.violations.length, 'violation')].filter(Boolean).join(' · ');
// Long tokens are shortened here too, where all of a run have most digits in common.
const known = new Set(events.filter(e => e.token).map(e => String(e.token)));
const plain = text => data.diagrams.length === 1 ? text.replace(/\d{7,}/g, token => known.has(token) ? short(token) : token) : text;
for (const violation of data.violations.slice(0, 5)) { const item = document.createElement('li'); item.textContent = plain(violation); $('violations').append(item); }

function choose(index) {
  current = index;
  const d = data.diagrams[index];
  $('call').hidden = !d;
  if (!d) { drawn.diagram.clear(); return; }
  $('sentence').hidden = d.sentence === data.headline;
  $('sentence').textContent = d.sentence;
  drawDiagram(d);
}
function entry(where, text, bad, go) {
  const button = document.createElement('button');
  button.textContent = text; button.className = bad ? 'bad' : ''; button.onclick = go; where.append(button);
}
function calls() {
  const where = $('calls').lastElementChild, rest = data.violations.slice(5), more = data.diagrams.length > 1 || data.violations.length > 0 && !data.diagrams.length || rest.length;
  $('calls').hidden = !more;
  $('calls').firstElementChild.textContent = 'Other late calls and violations';
  for (const v of data.violations.slice(0, 200)) entry(where, v, true, () => {
    const found = about(v);
    if (!found.length) return;
    const from = ms(found[0].at), until = ms(found[found.length - 1].at), room = (until - from) * .15 + 20;
    $('scale').open = true; chosen = { t: until }; show(from - room, until + room); $('scale').scrollIntoView();
  });
  data.diagrams.forEach((d, i) => entry(where, seconds(d.steps[d.steps.length - 1].millis) + '  ' + d.lock + ': ' + d.sentence, d.violation, () => {
    choose(i); $('call').scrollIntoView();
    const from = d.steps[0].millis, until = d.steps[d.steps.length - 1].millis, room = (until - from) * .15 + 20;
    chosen = { t: until }; show(from - room, until + room);
  }));
  const left = data.refusals - data.diagrams.filter(d => !d.violation).length;
  if (left > 0) where.append(many(left, 'late call') + ' more: all are under "Leases and faults to scale".');
}
const LISTED = 400;
function eventList() {
  if (!$('list').open) return;
  const inView = events.filter(e => ms(e.at) >= view.from && ms(e.at) <= view.until), where = $('list').lastElementChild, ol = document.createElement('ol');
  ol.className = 'events';
  for (const e of inView.slice(0, LISTED)) { const li = document.createElement('li'); li.textContent = told(e); ol.append(li); }
  where.replaceChildren(ol);
  if (inView.length > LISTED) where.append(many(inView.length - LISTED, 'event') + ' more: zoom in above.');
}
$('list').firstElementChild.textContent = 'Events, with whole tokens';
calls();
$('in').onclick = () => zoom(.5, middle()); $('out').onclick = () => zoom(2, middle());
const move = by => show(view.from + (view.until - view.from) * by, view.until + (view.until - view.from) * by);
$('earlier').onclick = () => move(-.5); $('later').onclick = () => move(.5);
$('whole').onclick = () => show(0, END); $('best').onclick = interesting;
for (const id of ['filter', 'locks', 'clients']) $(id).oninput = drawLanes;
$('lanes').onkeydown = e => { const go = { ArrowLeft: 'earlier', ArrowRight: 'later', '+': 'in', '-': 'out' }[e.key]; if (go) { e.preventDefault(); $(go).click(); } };
$('lanes').onwheel = e => { if (e.ctrlKey || e.shiftKey || e.altKey) { e.preventDefault(); zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : .8, view.from + e.offsetX / wide() * (view.until - view.from)); } };
$('all').onclick = e => { const t = e.offsetX / wide() * END, half = (view.until - view.from) / 2; show(t - half, t + half); };
$('scale').addEventListener('toggle', drawLanes);
$('list').addEventListener('toggle', eventList);
const redraw = () => { choose(current); drawLanes(); };
window.addEventListener('resize', redraw);
// Of a short run the diagram tells all.
$('clients').checked = all.length <= 8;
$('scale').open = data.diagrams.length !== 1;
choose(0);
interesting();
