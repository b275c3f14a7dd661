// Confirmation of request-release and force-release, with the reason that goes into the history.
import {post} from './api.js';
import {html} from './dom.js';
import {count} from './format.js';

const TEXTS = {
  'request-release': {
    title: 'Request the release of',
    warning: 'Every holder is asked to give the lock up. Each decides by itself; nothing else changes.',
    action: 'Request release',
    done: reply => `${count(reply.holdersAsked, 'holder')} asked.`,
  },
  'force-release': {
    title: 'Force the release of',
    warning: 'The lease ends at once, and the next waiter gets the lock. The holder may not know it yet and continue to work: '
        + 'only a guard stops its late writes.',
    action: 'Force release',
    done: reply => reply.released ? `${count(reply.released, 'lease')} ended.` : 'No lease was ended: it had ended before.',
  },
};

export function askForRelease(kind, lock, now, caller, result) {
  const texts = TEXTS[kind];
  const owners = now.holders.map(holder => `${holder.owner || 'a client'}, token ${holder.token}`).join('; ');
  const by = caller.principal ? null : html('input', {id: 'by', required: true, maxlength: 200, autocomplete: 'name'});
  const why = html('input', {id: 'why', required: true, maxlength: 200, autocomplete: 'off'});
  const problem = html('p', {class: 'problem', role: 'alert'});
  const confirm = html('button', {id: 'confirm', type: 'submit', class: kind === 'force-release' ? 'danger' : 'primary'}, texts.action);
  const send = async event => {
    event.preventDefault();
    confirm.disabled = true;
    const body = {why: why.value, ...(by ? {by: by.value} : {})};
    if (kind === 'force-release') {
      // Only the lease that the operator saw; with several holders, all of them.
      body.token = now.holdersTotal === 1 ? now.holders[0].token : '0';
    }
    try {
      result.textContent = texts.done(await post(`locks/${encodeURIComponent(lock)}/${kind}`, body));
      result.className = 'done';
      dialog.close();
    } catch (failure) {
      problem.textContent = failure.message;
      confirm.disabled = false;
    }
  };
  const dialog = html('dialog', {'aria-labelledby': 'dialog-title', onclose: () => dialog.remove()},
      html('form', {onsubmit: send},
          html('h2', {id: 'dialog-title'}, `${texts.title} ${lock}?`),
          html('p', {}, `Held by ${owners}` + (now.holdersTotal > now.holders.length ? ` and ${now.holdersTotal - now.holders.length} more.` : '.')),
          html('p', {}, texts.warning),
          by && html('label', {}, 'Your name, for the history', by),
          html('label', {}, 'Reason, for the history', why),
          problem,
          html('div', {class: 'actions'},
              html('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'),
              confirm)));
  document.body.append(dialog);
  dialog.showModal();
  (by ?? why).focus();
}
