// Router of the page: one view at a time, chosen by the part of the address after '#', which is never sent to the server.
import {Problem, follow, get, signIn} from './api.js';
import {html} from './dom.js';
import {lockView} from './lock.js';
import {locksView} from './locks.js';
import {sessionsView, storeView} from './server.js';

const main = document.getElementById('main');
const live = document.getElementById('live');
let ended = new AbortController();
let caller = null;

const RETRY_MILLIS = 2_000;

function showLive(isLive, failure) {
  const text = isLive ? 'Live' : 'Not live: ' + (failure instanceof Problem ? failure.message : 'no connection to the server');
  if (live.textContent !== text) {
    live.textContent = text;
    live.classList.toggle('off', !isLive);
  }
  if (failure instanceof Problem && failure.status === 401) {
    showSignIn(failure);
  }
}

function showSignIn(failure) {
  ended.abort();
  caller = null;
  showCaller();
  live.textContent = '';
  const input = html('input', {id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false'});
  const status = html('p', {class: 'problem', role: 'alert'}, failure?.message ?? '');
  main.replaceChildren(
      html('h2', {}, 'Sign in'),
      html('p', {}, 'This server has a policy. Sign in with a token, as palisade users add prints it.'),
      html('form', {
        onsubmit: event => {
          event.preventDefault();
          signIn(input.value.trim());
          start();
        },
      }, html('label', {}, 'Token', input), html('button', {class: 'primary', type: 'submit'}, 'Sign in')),
      status,
      html('p', {class: 'note'}, 'The token stays in the memory of this page, and is gone when you reload or close it.'));
  input.focus();
}

function showCaller() {
  document.getElementById('issuer').textContent = caller?.issuer ? 'issuer ' + caller.issuer : '';
  document.getElementById('principal').textContent = caller?.principal ?? '';
  document.getElementById('sign-out').hidden = !caller?.principal;
  document.getElementById('nav').hidden = !caller;
  for (const link of document.querySelectorAll('[data-operate]')) {
    link.hidden = !caller?.mayOperate;
  }
}

function route() {
  const [path, query] = location.hash.slice(2).split('?', 2);
  const parameters = new URLSearchParams(query ?? '');
  const [page, name] = (path || 'locks').split('/', 2);
  switch (page) {
    case 'lock': return lockView(decodeURIComponent(name ?? ''), caller);
    case 'sessions': return sessionsView(parameters);
    case 'store': return storeView();
    default: return locksView(parameters);
  }
}

function show(isNavigation) {
  if (!caller) {
    return;
  }
  ended.abort();
  ended = new AbortController();
  const view = route();
  const page = location.hash.startsWith('#/') ? location.hash.split(/[/?]/)[1] : 'locks';
  for (const link of document.querySelectorAll('nav a')) {
    const isCurrent = link.hash === '#/' + page || (page === 'lock' && link.hash === '#/locks');
    isCurrent ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
  }
  document.title = view.title + ' – Palisade';
  main.replaceChildren(view.element);
  if (isNavigation) {
    main.focus();
  }
  showLive(false, {});
  live.textContent = 'Connecting…';
  follow(view.path, ended.signal, view.update, showLive);
}

async function start() {
  try {
    const found = await get('caller');
    if (found.mustSignIn) {
      showSignIn();
      return;
    }
    caller = found;
    showCaller();
    show(false);
  } catch (failure) {
    showLive(false, failure);
    if (failure.status !== 401) {
      setTimeout(start, RETRY_MILLIS);
    }
  }
}

addEventListener('hashchange', () => show(true));
document.getElementById('sign-out').addEventListener('click', () => {
  signIn('');
  start();
});
start();
