// Client of the JSON API. The token is kept in this page's memory only, and sent by this script only.
let token = '';

export function signIn(value) {
  token = value;
}

export class Problem extends Error {
  constructor(problem) {
    super(problem.detail);
    this.status = problem.status;
    this.reason = problem.reason;
  }
}

function headers(more) {
  return token ? {...more, Authorization: 'Bearer ' + token} : more;
}

async function problem(response) {
  try {
    return new Problem(await response.json());
  } catch {
    return new Problem({detail: 'the server answered ' + response.status, status: response.status});
  }
}

export async function get(path) {
  const response = await fetch('/api/v1/' + path, {headers: headers({}), credentials: 'omit'});
  if (!response.ok) {
    throw await problem(response);
  }
  return response.json();
}

export async function post(path, body) {
  const response = await fetch('/api/v1/' + path, {
    method: 'POST',
    headers: headers({'Content-Type': 'application/json'}),
    body: JSON.stringify(body),
    credentials: 'omit',
  });
  if (!response.ok) {
    throw await problem(response);
  }
  return response.json();
}

const SILENT_MILLIS = 15_000;
const RETRY_MILLIS = 2_000;

// Follows a resource: onData for each new state, onLive(false, why) while there is none. Ends with the signal, or when refused.
export async function follow(path, signal, onData, onLive) {
  while (!signal.aborted) {
    try {
      await stream(path, signal, onData, onLive);
    } catch (failure) {
      if (signal.aborted) {
        return;
      }
      onLive(false, failure);
      if (failure instanceof Problem && failure.status !== 503) {
        return;
      }
      await new Promise(resolve => setTimeout(resolve, RETRY_MILLIS));
    }
  }
}

async function stream(path, signal, onData, onLive) {
  const silence = new AbortController();
  const stop = () => silence.abort();
  signal.addEventListener('abort', stop);
  let timer = setTimeout(stop, SILENT_MILLIS);
  try {
    const response = await fetch('/api/v1/' + path, {
      headers: headers({Accept: 'text/event-stream'}),
      credentials: 'omit',
      signal: silence.signal,
    });
    if (!response.ok) {
      throw await problem(response);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) {
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(stop, SILENT_MILLIS);
      text += value;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        dispatch(text.slice(0, end), onData);
        text = text.slice(end + 2);
        onLive(true);
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function dispatch(event, onData) {
  const data = event.split('\n').find(line => line.startsWith('data: '));
  if (event.startsWith('event: problem')) {
    throw new Problem(JSON.parse(data.slice(6)));
  }
  if (data) {
    onData(JSON.parse(data.slice(6)));
  }
}
