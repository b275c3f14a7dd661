// Story of a grant: what ended it, which grant was next, and which calls guards refused.
import {get} from './api.js';
import {html, update} from './dom.js';
import {moment} from './format.js';

export function explanation(lock) {
  const result = html('div', {id: 'explanation', role: 'status'});
  const token = html('input', {id: 'explain-token', inputmode: 'numeric', pattern: '[0-9]*', maxlength: 16, autocomplete: 'off'});
  const ask = async event => {
    event.preventDefault();
    try {
      show(result, await get(`locks/${encodeURIComponent(lock)}/explain?token=${token.value || '0'}`));
    } catch (failure) {
      update(result, html('p', {class: 'problem'}, failure.message));
    }
  };
  return html('section', {'aria-label': 'Refused calls'},
      html('h3', {}, 'Why was a call refused?'),
      html('form', {onsubmit: ask},
          html('label', {}, 'Token of the call; empty: the last one refused', token),
          html('button', {id: 'explain', type: 'submit'}, 'Explain')),
      result);
}

// What the server quotes is text of strangers, in any alphabet: it must not turn the words around it.
function quoted(sentence) {
  return sentence.split(/('(?:[^'\\]|\\.)*')/).map((part, index) => index % 2 ? html('bdi', {}, part) : part);
}

function show(result, story) {
  update(result,
      html('p', {}, html('strong', {}, quoted(story.summary))),
      html('ol', {class: 'story'}, story.events.map(event => html('li', {},
          html('time', {datetime: new Date(Number(event.atEpochMillis)).toISOString()}, moment(event.atEpochMillis)),
          html('span', {}, quoted(event.text))))),
      story.advice.length > 0 && html('ul', {}, story.advice.map(advice => html('li', {}, quoted(advice)))),
      story.unknown.map(gap => html('p', {class: 'note'}, quoted(gap))));
}
