// The simulator's phone: the chat stays at its end, and each sending gets an id of its own, so that a double click sends once.
(() => {
  const NEAR = 80;
  let wasAtEnd = true;
  const thread = () => document.getElementById('thread');
  const toEnd = () => { const chat = thread(); if (chat) chat.scrollTop = chat.scrollHeight; };

  document.addEventListener('htmx:before:swap', () => {
    const chat = thread();
    wasAtEnd = !chat || chat.scrollHeight - chat.scrollTop - chat.clientHeight < NEAR;
  });
  document.addEventListener('htmx:after:swap', () => { if (wasAtEnd) toEnd(); });

  document.addEventListener('htmx:after:request', (event) => {
    const form = event.detail.ctx?.sourceElement?.closest?.('[data-phone-form]');
    if (!form || event.detail.ctx.response?.status !== 200) return;
    form.elements.body.value = '';
    form.elements.client_id.value = crypto.randomUUID();
    wasAtEnd = true;
  });

  toEnd();
})();
