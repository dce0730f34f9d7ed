// Short notices: from the server (HX-Trigger: {"toast": {"text": "…"}}) and for answers that cannot be shown in place.
(() => {
  const WORDS = {
    401: 'You have been signed out. Reload the page to sign in again.',
    403: 'You may not do that.',
    404: 'That is no longer there. Reload the page.',
    429: 'Too many requests at once. Wait a moment and try again.',
  };
  let busy = 0;

  function toast(text) {
    const place = document.getElementById('toasts');
    if ([...place.children].some((one) => one.textContent === text)) return;
    const note = document.createElement('p');
    note.textContent = text;
    place.append(note);
    setTimeout(() => note.remove(), 6000);
  }

  document.addEventListener('toast', (event) => event.detail?.text && toast(event.detail.text));
  // What a person asked for, not the page's own refreshing.
  const asked = (event) => ['click', 'submit', 'change'].includes(event.detail.ctx?.sourceEvent?.type);

  document.addEventListener('htmx:response:error', (event) => {
    if (!asked(event)) return;
    const status = event.detail.ctx.response.status;
    if (status >= 500) toast('Something went wrong on our side. Nothing you wrote is lost; try again.');
    else if (WORDS[status]) toast(WORDS[status]);
    else if (status === 409 && !event.detail.ctx.sourceElement.closest('#dialog, #composer')) toast('Somebody was quicker. The page shows the latest now.');
  });
  document.addEventListener('htmx:error', (event) => {
    if (asked(event)) toast('No connection. Nothing you wrote is lost; try again.');
  });
  document.addEventListener('htmx:before:request', (event) => { if (asked(event)) { busy += 1; document.body.dataset.busy = ''; } });
  document.addEventListener('htmx:finally:request', (event) => {
    if (!asked(event)) return;
    busy = Math.max(0, busy - 1);
    if (!busy) delete document.body.dataset.busy;
  });
  window.warmline = Object.assign(window.warmline || {}, {toast});
})();
