// How the page asks its server: GETs for what is looked at, and calls of the endpoints that programs use, too.

const base = new URL('.', document.baseURI);    // of the run
export const link = (path, parameters = {}) => {
  const url = new URL(path, base), given = Object.entries(parameters).filter(([, value]) => value !== '' && value != null);
  url.search = new URLSearchParams(given);
  return url.href;
};
export const picture = id => link(`items/${encodeURIComponent(id)}/picture`);

// A server that was restarted knows nothing of what this page shows: the page that is loaded again asks for it.
let server;
const notice = response => {
  const name = response.headers.get('x-server');
  if (server && name && name !== server && response.status !== 401) {
    sessionStorage.restarted = '1';
    health.leaving = true;
    location.reload();
  }
  server ??= name;
  return response;
};

// Whether the server answers; listeners are told when that changes. leaving: the page is being loaded again.
export const health = {alive: true, leaving: false, listeners: new Set()};
const CHECK = 2500;    // milliseconds between two looks while the page is seen
const setAlive = alive => {
  if (alive === health.alive) return;
  health.alive = alive;
  health.listeners.forEach(listener => listener(alive));
};

const fetched = async (url, options) => {
  try {
    const response = notice(await fetch(url, options));
    setAlive(true);
    return response;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    setAlive(false);
    throw new Error('The server does not answer. What is shown may be old.');
  }
};
const refusal = sentence => Object.assign(new Error(sentence), {refused: true});    // told to the visitor, and no error of the page
const refusalOf = async response => {
  const {error, detail} = await response.json().catch(() => ({}));
  if (response.status === 401) return Object.assign(new Error('You are signed out.'), {refused: true, remedy: {label: 'Sign in', act: () => location.reload()}});
  const sentence = error ?? detail;
  return typeof sentence === 'string' ? refusal(sentence) : new Error(`The server answered with ${response.status}.`);
};

export const get = async (path, parameters = {}, {signal} = {}) => {
  const response = await fetched(link(path, parameters), {signal});
  if (!response.ok) throw await refusalOf(response);
  return response.json();
};
setInterval(() => { if (document.visibilityState === 'visible') fetched(link('alive')).catch(() => {}); }, CHECK);

// A file becomes an upload, of which the server keeps the path for ten minutes.
export const upload = async (file, {signal} = {}) => {
  const form = new FormData();
  form.append('files', file);
  const response = await fetched(link('gradio_api/upload'), {method: 'POST', body: form, signal});
  if (!response.ok) throw await refusalOf(response);
  return (await response.json())[0];
};
const isFile = value => value instanceof File;
const sent = async value => isFile(value) ? {path: await upload(value), meta: {_type: 'gradio.FileData'}} : value;

async function* messagesOf(response) {    // {event, data} of a stream of answers
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const messages = (rest + value).split('\n\n');
    rest = messages.pop();
    for (const message of messages) {
      const [, event = ''] = message.match(/^event: (.*)$/m) ?? [], [, data = 'null'] = message.match(/^data: (.*)$/m) ?? [];
      yield {event, data: JSON.parse(data)};
    }
  }
}

// progress: gets what an endpoint yields before its last answer.
export const call = async (name, parameters = {}, {signal, progress} = {}) => {
  const given = Object.fromEntries(await Promise.all(Object.entries(parameters).map(async ([key, value]) => [key, await sent(value)])));
  const posted = await fetched(link(`gradio_api/call/${name}`), {method: 'POST', signal,
    headers: {'content-type': 'application/json'}, body: JSON.stringify({data: given})});
  if (!posted.ok) throw await refusalOf(posted);
  const {event_id: event} = await posted.json();
  const answers = await fetched(link(`gradio_api/call/${name}/${event}`), {signal});
  if (!answers.ok) throw await refusalOf(answers);
  for await (const message of messagesOf(answers)) {
    if (message.event === 'error') throw refusal(message.data?.error ?? message.data ?? 'Something went wrong on the server; its log has the details.');
    if (message.event === 'generating') progress?.(message.data[0]);
    if (message.event === 'complete') return message.data[0];
  }
  throw new Error('The answer broke off; try again.');
};
