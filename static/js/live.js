// The socket only says "topic changed": the page then fetches HTML. Falls back to asking every 15 seconds.
(() => {
  const topics = document.querySelector('meta[name="live-topics"]')?.content.split(/\s+/).filter(Boolean) || [];
  const POLL = 15000;
  const GRACE = 4000;
  let polling = null;
  let lost = null;
  let seen = false;

  const signal = (name, detail) => htmx.trigger(document.body, name, detail || {});

  function show(state, words) {
    document.querySelectorAll('[data-live]').forEach((place) => {
      place.dataset.state = state;
      place.querySelector('[data-live-words]').textContent = words;
    });
  }

  const time = () => new Date(window.warmline?.now?.() ?? Date.now()).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'});

  function poll() {
    if (polling) return;
    const ask = () => {
      if (document.hidden) return;
      signal('resync');
      show('polling', `Checked ${time()}, every 15 s`);
    };
    polling = setInterval(ask, POLL);
    show('polling', 'Checking every 15 s');
  }

  function stopPolling() {
    clearInterval(polling);
    clearTimeout(lost);
    polling = lost = null;
  }

  if (!topics.length) return;
  if (!window.io) { poll(); return; }

  const socket = io({transports: ['websocket']});
  socket.on('connect', () => {
    stopPolling();
    // What changed between the page's making and this moment was told to nobody: ask once the rooms are joined.
    const word = seen ? 'resync' : 'joined';
    seen = true;
    socket.emit('watch', topics, () => signal(word));
    show('live', 'Live');
  });
  const gone = () => {
    if (!polling) show('reconnecting', 'Reconnecting');
    lost ||= setTimeout(poll, GRACE);
  };
  socket.on('disconnect', (reason) => {
    gone();
    // The server cut us off, for an ended session or its own restart: asking once more tells which.
    if (reason === 'io server disconnect') socket.connect();
  });
  socket.on('connect_error', (error) => {
    if (error.message !== 'sign_in') { gone(); return; }
    stopPolling();
    show('reconnecting', 'Signed out. Reload the page');
  });
  socket.onAny((topic, data) => signal(topic, data));

  // A page that slept or came back from the browser's memory asks once.
  let hiddenAt = 0;
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (Date.now() - hiddenAt > POLL) signal('resync');
  });
  window.addEventListener('pageshow', (event) => event.persisted && signal('resync'));
})();
