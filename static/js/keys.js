// Single-letter keys for the list on the page: j k move, r reply, a assign, e outcome, ? help. Off inside fields, with
// the switch under "?" and while a dialog is open. Enter is the link's own.
(() => {
  const links = () => [...document.querySelectorAll('[data-row] .row-link')];
  const here = () => document.activeElement?.closest('[data-row]') || document.querySelector('[data-row]');

  function move(step) {
    const all = links();
    const at = all.findIndex((link) => link.closest('[data-row]').contains(document.activeElement));
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    next?.focus();
    next?.closest('[data-row]').scrollIntoView({block: 'nearest'});
  }

  const press = (name) => here()?.querySelector(`[data-key="${name}"]`)?.click();

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.('input, textarea, select, [contenteditable], dialog, [popover]')) return;
    if (document.body.dataset.keys === 'off') return;
    if (event.key === '?') { document.getElementById('help')?.showModal(); return; }
    const action = {j: () => move(1), k: () => move(-1), r: () => press('r'), a: () => press('a'), e: () => press('e')}[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  document.addEventListener('change', (event) => {
    const form = event.target.closest?.('[data-keys-form]');
    if (!form) return;
    document.body.dataset.keys = event.target.checked ? 'on' : 'off';
    document.cookie = `keys=${event.target.checked ? 'on' : 'off'}; path=/; max-age=31536000; samesite=lax`;
  });
})();
