// View of one lock: holders, queue, timeline and history, and the two ways to free it.
import {facts, html, update} from './dom.js';
import {explanation} from './explain.js';
import {count, duration, mode, moment, story} from './format.js';
import {askForRelease} from './release.js';
import {timeline} from './timeline.js';

export function lockView(name, caller) {
  const held = html('div', {});
  const waiting = html('div', {});
  const past = html('div', {});
  const result = html('p', {id: 'result', role: 'status'});
  const buttons = html('div', {class: 'actions'});
  let shown = '';
  let latest = null;
  const button = (id, text, kind, isDanger) => html('button', {
    id,
    type: 'button',
    class: isDanger ? 'danger' : '',
    onclick: () => askForRelease(kind, name, latest.now, caller, result),
  }, text);
  const show = found => {
    latest = found;
    update(held, holders(found.now));
    update(waiting, queue(found.now));
    const isHeld = found.now.holdersTotal > 0;
    update(buttons,
        isHeld && found.mayRequestRelease && button('request-release', 'Request release…', 'request-release', false),
        isHeld && found.mayForceRelease && button('force-release', 'Force release…', 'force-release', true));
    // Times pass without an event: the drawing has to follow only while a bar grows.
    const events = JSON.stringify(found.history);
    if (events !== shown || isHeld || found.now.waitersTotal > 0) {
      shown = events;
      update(past, timeline(found.history, Number(found.epochMillis)), history(found.history));
    }
  };
  return {
    title: name,
    path: 'locks/' + encodeURIComponent(name),
    update: show,
    element: html('section', {},
        html('p', {}, html('a', {href: '#/locks'}, '← All locks')),
        html('h2', {}, name), held, buttons, result, waiting, past, explanation(name)),
  };
}

function holders(now) {
  const closed = Math.max(Number(now.lockDelayRemainingMillis), Number(now.minimumHoldRemainingMillis));
  const free = closed > 0 ? `Free, but closed for another ${duration(closed)}.`
    : now.waitersTotal > 0 ? 'Offered to the first waiter.' : 'Free.';
  return html('section', {'aria-label': 'Held by'},
      html('h3', {}, 'Held by'),
      now.holders.length === 0 ? html('p', {}, free) : now.holders.map(holder => html('div', {class: 'card'}, facts([
        ['Owner', html('bdi', {}, holder.owner || 'not named')],
        ['Principal', holder.principal && html('bdi', {}, holder.principal)],
        ['Purpose', holder.purpose && html('bdi', {}, holder.purpose)],
        ['Mode', mode(holder.mode)],
        ['Token', holder.token],
        ['Held for', duration(holder.heldMillis)],
        ['Lease', `ends in ${duration(holder.remainingMillis)} of ${duration(holder.ttlMillis)} unless it is renewed`],
        ['Session', holder.session],
        ['Minimum hold', Number(now.minimumHoldRemainingMillis) > 0 ? duration(now.minimumHoldRemainingMillis) + ' left' : ''],
      ]))),
      now.holdersTotal > now.holders.length
        ? html('p', {class: 'note'}, `${now.holdersTotal - now.holders.length} more are not shown.`) : null);
}

function queue(now) {
  return html('section', {'aria-label': 'Queue'},
      html('h3', {}, now.waitersTotal ? 'Queue: ' + count(now.waitersTotal, 'waiter') : 'Queue'),
      now.waiters.length === 0 ? html('p', {class: 'note'}, 'Empty.')
        : html('ol', {class: 'queue'}, now.waiters.map(waiter => html('li', {},
            html('bdi', {}, waiter.owner || 'session ' + waiter.session),
            waiter.principal ? [' as ', html('bdi', {}, waiter.principal)] : null,
            `, ${mode(waiter.mode)}, for ${duration(waiter.waitedMillis)}` + (waiter.offered ? ', offered the lock' : ''),
            waiter.purpose ? [': ', html('bdi', {}, waiter.purpose)] : null))),
      now.waitersTotal > now.waiters.length
        ? html('p', {class: 'note'}, `${now.waitersTotal - now.waiters.length} more are not shown.`) : null);
}

function history(entries) {
  return html('section', {'aria-label': 'History'},
      html('h3', {}, 'History, newest first'),
      entries.length === 0 ? html('p', {class: 'note'}, 'Nothing is on record.')
        : html('ol', {class: 'story'}, entries.map((entry, index) => html('li', {},
            html('time', {datetime: new Date(Number(entry.atEpochMillis)).toISOString()}, moment(entry.atEpochMillis)),
            html('span', {}, html('bdi', {}, entry.owner || 'A client'),
                ` ${story(entry.what)}` + (entry.token === '0' ? '' : `, token ${entry.token}`),
                entry.detail ? [' – ', html('bdi', {}, entry.detail)] : null,
                entry.afterGap && index > 0 ? html('em', {}, ' Events before this one may be missing.') : null))).reverse()));
}
