// Messages leave with an id made here (a double click is one message), drafts stay in this browser, and what was
// written before the lead wrote again is not sent unread. Follows the thread when the reply window opens or closes.
(() => {
  const box = document.getElementById('composer');
  if (!box) return;
  const conversation = box.dataset.conversation;
  const key = `draft:${conversation}`;

  const forms = () => [...box.querySelectorAll('[data-message-form]')];
  const text = () => box.querySelector('textarea[name=text]');
  const note = () => document.getElementById('composer-note');
  const messages = () => document.getElementById('messages');
  const heldVersion = () => forms()[0]?.elements.conversation_version.value;
  // randomUUID exists on HTTPS and localhost only.
  const newId = () => crypto.randomUUID?.()
    ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const freshId = (form) => { form.elements.client_id.value = newId(); };

  function setUp() {
    forms().forEach(freshId);
    if (text() && !text().value) text().value = localStorage.getItem(key) || '';
    sayLength();
  }

  // Nothing that was written or pasted is cut: near the end of what fits the length is said, and beyond it too.
  function sayLength() {
    const line = document.getElementById('composer-length');
    if (!line || !text()) return;
    const left = Number(text().dataset.longest) - text().value.length;
    const words = left < 0 ? `${-left} too many for one message` : left <= 200 ? `${left} characters left` : '';
    if (line.textContent !== words) line.textContent = words;
    text().setAttribute('aria-invalid', String(left < 0));
  }

  function keepDraft() {
    if (!text()) return;
    if (text().value) localStorage.setItem(key, text().value);
    else localStorage.removeItem(key);
  }

  // The adviser has the newest message in view and goes on: from here the answer is written on it.
  function adopt() {
    const version = messages()?.dataset.version;
    if (!version || version === heldVersion()) return;
    forms().forEach((form) => { form.elements.conversation_version.value = version; });
    if ('again' in note().dataset) { note().replaceChildren(); delete note().dataset.again; }
  }

  function saysAgain() {
    const line = document.createElement('p');
    line.className = 'flex items-center gap-3 rounded-control border border-tint-line bg-tint px-3 py-1.5 text-second';
    line.setAttribute('role', 'status');
    const words = document.createElement('span');
    words.className = 'flex-1';
    words.textContent = `${box.dataset.lead} wrote again: read first.`;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'btn btn-small';
    button.textContent = 'I have read it';
    button.addEventListener('click', () => { adopt(); text()?.focus(); });
    line.append(words, button);
    note().replaceChildren(line);
    note().dataset.again = '';
  }

  box.addEventListener('input', () => { keepDraft(); adopt(); sayLength(); });
  box.addEventListener('toggle', (event) => event.target.matches('details[open]') && adopt(), true);
  box.addEventListener('keydown', (event) => {
    if (event.target !== text() || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  document.addEventListener('htmx:after:swap', (event) => {
    const {ctx} = event.detail;
    if (ctx?.target === box) { setUp(); return; }
    if (ctx?.sourceElement?.id !== 'thread') return;
    const mode = messages()?.dataset.mode;
    if (mode && mode !== box.dataset.mode) {
      box.dataset.mode = mode;
      htmx.ajax('GET', `/inbox/${conversation}/composer`, {target: box, swap: 'innerHTML'});
    } else if (messages()?.dataset.version !== heldVersion()) {
      if (text()?.value) saysAgain();
      else adopt();
    }
  });

  document.addEventListener('htmx:after:request', (event) => {
    const {ctx} = event.detail;
    const form = ctx.sourceElement.closest?.('[data-message-form]');
    if (!form || !box.contains(form)) return;
    const {status} = ctx.response;
    if (status === 409 || status === 422) {
      // Refused, so nothing was made: what goes next is a new message.
      freshId(form);
      if (status === 409) note().dataset.again = '';
    } else if (status < 300) {
      sent(form);
    }
    if (status < 500) htmx.trigger(document.body, `conversation:${conversation}`, {});
  });

  function sent(form) {
    freshId(form);
    note().replaceChildren();
    if (form.contains(text())) {
      text().value = '';
      sayLength();
      localStorage.removeItem(key);
      text().focus();
    } else {
      document.getElementById('templates')?.hidePopover?.();
      form.closest('details').open = false;
    }
  }

  // Nobody writes when the window closes, so the clock asks: the thread then brings the composer's new mode.
  function lapse() {
    const end = box.dataset.mode === 'free' && box.querySelector('[data-until]')?.dataset.until;
    if (!end || end === asked || window.warmline.now() < Number(end) + 1000) return;
    asked = end;
    htmx.trigger('#thread', 'resync', {});
  }
  let asked = '';
  setInterval(lapse, 1000);

  setUp();
})();
