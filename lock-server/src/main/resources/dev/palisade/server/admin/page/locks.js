// View of the locks in use: search, order, pages.
import {html, update} from './dom.js';
import {count, duration, mode} from './format.js';

const ORDERS = [['name', 'Name'], ['waiters', 'Most waiters'], ['held', 'Longest held']];

export function locksView(parameters) {
  const prefix = parameters.get('prefix') ?? '';
  const sort = parameters.get('sort') ?? 'waiters';
  const page = Number(parameters.get('page') ?? 1);
  const go = changes => {
    const next = new URLSearchParams({prefix, sort, page: 1, ...changes});
    location.hash = '#/locks?' + next;
  };
  const search = html('input', {id: 'prefix', type: 'search', value: prefix, autocomplete: 'off', spellcheck: 'false', maxlength: 256});
  const order = html('select', {id: 'sort', onchange: event => go({sort: event.target.value})},
      ORDERS.map(([value, text]) => html('option', {value, selected: value === sort}, text)));
  const results = html('div', {id: 'results'});
  const element = html('section', {},
      html('h2', {}, 'Locks in use'),
      html('form', {
        role: 'search',
        onsubmit: event => {
          event.preventDefault();
          go({prefix: search.value});
        },
      },
      html('label', {}, 'Name begins with', search),
      html('button', {type: 'submit'}, 'Search'),
      html('label', {}, 'Order', order)),
      results);
  return {
    title: 'Locks',
    element,
    path: 'locks?' + new URLSearchParams({prefix, sort, page}),
    update: listing => update(results, table(listing, prefix), pages(listing, go)),
  };
}

function table(listing, prefix) {
  if (listing.locks.length === 0) {
    return html('p', {class: 'note'}, prefix ? ['No lock in use begins with “', html('bdi', {}, prefix), '”.'] : 'No lock is in use.');
  }
  return html('table', {},
      html('caption', {}, count(listing.locksTotal, 'lock') +
          (listing.complete ? '' : ' of more: search for a longer beginning to see the others')),
      html('thead', {}, html('tr', {},
          html('th', {scope: 'col'}, 'Lock'), html('th', {scope: 'col'}, 'Held by'),
          html('th', {scope: 'col', class: 'number'}, 'Held for'),
          html('th', {scope: 'col', class: 'number'}, 'Lease ends in'),
          html('th', {scope: 'col', class: 'number'}, 'Waiting'))),
      html('tbody', {}, listing.locks.map(row)));
}

function row(lock) {
  const holder = lock.holders[0];
  const more = lock.holdersTotal > 1 ? ` and ${lock.holdersTotal - 1} more` : '';
  const closed = Math.max(Number(lock.lockDelayRemainingMillis), Number(lock.minimumHoldRemainingMillis));
  const held = holder
    ? [html('bdi', {}, holder.owner || 'session ' + holder.session), more + (holder.mode === 'SHARED' ? ` (${mode(holder.mode)})` : '')]
    : closed > 0 ? 'free again in ' + duration(closed) : 'offered to a waiter';
  return html('tr', {},
      html('td', {}, html('a', {href: '#/lock/' + encodeURIComponent(lock.lock)}, html('bdi', {}, lock.lock))),
      html('td', {}, held),
      html('td', {class: 'number', 'data-label': 'held for'}, holder ? duration(holder.heldMillis) : '–'),
      html('td', {class: 'number', 'data-label': 'lease ends in'}, holder ? duration(holder.remainingMillis) : '–'),
      html('td', {class: 'number', 'data-label': 'waiting'}, String(lock.waitersTotal)));
}

function pages(listing, go) {
  if (listing.pages < 2) {
    return null;
  }
  const to = (id, page, text) => html('button',
      {id, type: 'button', disabled: page < 1 || page > listing.pages, onclick: () => go({page})}, text);
  return html('div', {class: 'pages'},
      to('previous', listing.page - 1, 'Previous'),
      `Page ${listing.page} of ${listing.pages}`,
      to('next', listing.page + 1, 'Next'));
}
