// Opens the page's dialog when a fragment arrives in it, closes it when its form was accepted (204), and stands in
// for command/commandfor in browsers that do not know them.
(() => {
  const dialog = document.getElementById('dialog');

  document.addEventListener('htmx:after:swap', (event) => {
    const target = event.detail.ctx?.target;
    if (target !== dialog && target !== '#dialog') return;
    if (!dialog.open) dialog.showModal();
    const title = dialog.querySelector('#dialog-title');
    if (title) { dialog.removeAttribute('aria-label'); dialog.setAttribute('aria-labelledby', title.id); }
    (dialog.querySelector('input:checked, input:not([type=hidden]), textarea') || dialog.querySelector('button'))?.focus();
  });

  document.addEventListener('htmx:after:request', (event) => {
    const {ctx} = event.detail;
    if (ctx.response?.status === 204) ctx.sourceElement.closest?.('dialog[open]')?.close();
  });
  dialog?.addEventListener('close', () => dialog.replaceChildren());

  // A click on the dark ground closes, as Esc does.
  document.addEventListener('click', (event) => {
    if (event.target instanceof HTMLDialogElement && event.target.open) {
      const box = event.target.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside && (event.clientX || event.clientY)) event.target.close();
    }
  });

  if (!('commandForElement' in HTMLButtonElement.prototype)) {
    document.addEventListener('click', (event) => {
      const button = event.target.closest?.('button[commandfor]');
      const goal = button && document.getElementById(button.getAttribute('commandfor'));
      if (!goal) return;
      if (button.getAttribute('command') === 'show-modal') goal.showModal();
      if (button.getAttribute('command') === 'close') goal.close();
    });
  }
})();
