// Gradio's client reads the answers of all events from one stream, which the server ends when no event is pending. While
// that end is on its way the client believes the stream open, and an event sent then would never be answered. So the
// client learns of the end only when no event is pending; otherwise its stream goes on from another request. A stream
// that ends without saying so while events are pending is an error, upon which Gradio's page says that the connection is
// lost and loads itself again; it would wait for ever for the rest of a stream that ended well.
(() => {
  const request = window.fetch.bind(window);
  const joins = new Set();       // requests that send an event and are not answered yet
  const pending = new Set();     // ids of events that are not completed
  const completed = new Set();   // ids of events that were completed before the request that sent them was answered

  // Gradio's page has a sentence of its own for the status 503, and shows ours for others.
  const legible = response => response.status === 503 ? new Response(response.body, {status: 429, headers: response.headers})
    : response.status === 401 ? Response.json({detail: 'You are signed out. <a href="#">Sign in</a>'}, {status: 401}) : response;

  document.addEventListener('click', event => {
    if (!event.target.closest('[data-testid=toast-text] a')) return;
    event.preventDefault();
    location.reload();
  });

  // A server that was restarted knows nothing of what this page shows, and the page that is loaded again repeats it.
  let server;
  const notice = response => {
    const name = response.headers.get('x-server');
    if (server && name && name !== server && response.status !== 401) {
      sessionStorage.restarted = '1';
      location.reload();
    }
    server ??= name;
    return response;
  };

  const join = async (...options) => {
    const response = legible(notice(await request(...options)));
    const {event_id: id} = await response.clone().json().catch(() => ({}));
    if (id && !completed.delete(id)) pending.add(id);
    return response;
  };

  async function* messagesOf(response) {    // texts without the empty line that ends each
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      const messages = (rest + value).split('\n\n');
      rest = messages.pop();
      yield* messages;
    }
  }

  async function* unended(open, response) {
    for (;;) {
      let end;
      for await (const message of messagesOf(response)) {
        const {msg, event_id: id} = message.startsWith('data:') ? JSON.parse(message.slice('data:'.length)) : {};
        if (msg === 'close_stream') {
          end = message;
          break;
        }
        if (msg === 'process_completed' && !pending.delete(id)) completed.add(id);
        yield message;
      }
      if (!end) {    // the server or a proxy ended the stream without saying so
        if (pending.size) throw new Error('the stream of answers broke off');
        end = 'data: {"msg":"close_stream"}';
      }
      while (joins.size) await Promise.allSettled(joins);
      if (!pending.size) {
        yield end;
        return;
      }
      response = await open();
      if (!response.ok) throw new Error(`the stream of answers cannot be opened: ${response.status}`);
    }
  }

  const stream = async asked => {
    const open = () => request(asked.clone());
    const response = await open();
    if (!response.ok) return response;
    const messages = unended(open, response), encoder = new TextEncoder();
    const body = new ReadableStream({
      async pull(controller) {
        try {
          const {done, value} = await messages.next();
          done ? controller.close() : controller.enqueue(encoder.encode(`${value}\n\n`));
        } catch (error) {    // the client reports its events as failed
          pending.clear();
          controller.error(error);
        }
      },
      cancel: () => messages.return(),
    });
    return new Response(body, {status: response.status, headers: response.headers});
  };

  window.fetch = (...options) => {
    const [asked] = options, path = new URL(asked.url ?? asked, location).pathname;
    if (path.endsWith('/queue/data') && asked instanceof Request) return stream(asked);
    if (!path.endsWith('/queue/join')) return request(...options);
    const joined = join(...options);
    joins.add(joined);
    joined.catch(() => {}).finally(() => joins.delete(joined));
    return joined;
  };
})();
