// Views of the whole server: its sessions, and its store with the epochs of the tokens.
import {facts, html, update} from './dom.js';
import {count, duration, moment} from './format.js';

export function sessionsView(parameters) {
  const results = html('div', {});
  const pageToken = parameters.get('pageToken') ?? '';
  return {
    title: 'Sessions',
    path: 'sessions?' + new URLSearchParams({pageToken}),
    element: html('section', {}, html('h2', {}, 'Sessions of this server'), results),
    update: found => update(results, table(found.sessions), more(found.nextPageToken)),
  };
}

function table(sessions) {
  if (sessions.length === 0) {
    return html('p', {class: 'note'}, 'No client is connected.');
  }
  return html('table', {},
      html('caption', {}, sessions.length + (sessions.length === 1 ? ' client process' : ' client processes')),
      html('thead', {}, html('tr', {},
          html('th', {scope: 'col'}, 'Owner'), html('th', {scope: 'col'}, 'Session'), html('th', {scope: 'col'}, 'Connection'),
          html('th', {scope: 'col', class: 'number'}, 'Last heard'), html('th', {scope: 'col', class: 'number'}, 'Leases'),
          html('th', {scope: 'col', class: 'number'}, 'Waiting'))),
      html('tbody', {}, sessions.map(session => html('tr', {},
          html('td', {}, html('bdi', {}, session.owner || 'not named'), session.principal ? [' as ', html('bdi', {}, session.principal)] : null),
          html('td', {'data-label': 'session'}, session.session),
          html('td', {}, session.connected ? 'since ' + moment(session.connectedAtEpochMillis).slice(0, 19)
            : 'broken; its locks are freed unless it comes back'),
          html('td', {class: 'number', 'data-label': 'last heard'}, duration(session.heardMillisAgo) + ' ago'),
          html('td', {class: 'number', 'data-label': 'leases'}, String(session.leases)),
          html('td', {class: 'number', 'data-label': 'waiting'}, String(session.waiting))))));
}

function more(pageToken) {
  return pageToken ? html('p', {}, html('a', {href: '#/sessions?' + new URLSearchParams({pageToken})}, 'More sessions')) : null;
}

export function storeView() {
  const results = html('div', {});
  return {
    title: 'Store',
    path: 'store',
    element: html('section', {}, html('h2', {}, 'Store'), results),
    update: store => update(results, status(store), store.log ? log(store.log) : null, store.epoch ? epoch(store.epoch) : null),
  };
}

function state(store) {
  return store.up ? 'Up: locks are decided.'
    : store.standby ? 'Standby: another lock server decides.'
      : 'Down: no lock can be decided.';
}

function status(store) {
  return html('div', {class: 'card'},
      html('p', {class: store.up || store.standby ? 'done' : 'problem'}, state(store)),
      facts([
        ['Kind', store.kind],
        ['Where', store.where],
        ['Detail', store.detail],
        ['Since', moment(store.sinceEpochMillis)],
        [store.up ? 'Last failure' : 'Cause', store.why],
      ]));
}

const TAKEOVERS = {
  STARTED: 'the log was new',
  STOPPED: 'the former active server stopped',
  CLAIM_RAN_OUT: 'the former active server was silent until its claim was over',
  RESTARTED: 'the active server was started again',
  DATA_LOST: 'the log lost data',
};

function log(log) {
  const left = Number(log.claimRemainingMillis);
  return html('section', {},
      html('h3', {}, 'Active server'),
      html('div', {class: 'card'}, facts([
        [left ? 'Active' : 'Last active', log.active],
        ['Claim', left ? `${duration(log.claimMillis)}, ${duration(left)} left` : 'over'],
        ['Term', log.term],
        ['Writer', log.writer],
        ['Batch', log.batch],
        ['Last takeover', Number(log.takenOverAtEpochMillis) ? moment(log.takenOverAtEpochMillis) : ''],
        ['Because', TAKEOVERS[log.takenOverWhy] || log.takenOverWhy],
        ['Taken over from', log.takenOverFrom],
      ])),
      html('h3', {}, count(log.standbys.length, 'standby server')),
      log.standbys.map(standby => html('div', {class: 'card'}, facts([
        ['Address', standby.address],
        ['Since', moment(standby.sinceEpochMillis)],
        ['Last seen', moment(standby.lastSeenEpochMillis)],
      ]))));
}

function epoch(epoch) {
  return html('section', {},
      html('h3', {}, 'Epoch of the tokens'),
      html('p', {class: 'note'}, 'An epoch begins where the line of tokens was broken.'),
      html('div', {class: 'card'}, facts([
        ['Began', moment(epoch.beganAtEpochMillis)],
        ['Because', epoch.why],
        ['Tokens above', epoch.baseToken],
        ['Recovering', Number(epoch.recoveringMillis) > 0 ? 'no new grant for ' + duration(epoch.recoveringMillis) : ''],
        ['Ahead of the clock', Number(epoch.aheadMillis) > 0 ? duration(epoch.aheadMillis) : ''],
      ])));
}
