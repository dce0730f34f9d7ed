// A list marked data-steady does not move under a pointer that is at work: its swap waits for a short rest.
(() => {
  const REST = 700;
  let moved = 0;
  let pressed = false;
  const waiting = new Set();
  addEventListener('pointermove', () => { moved = performance.now(); }, {passive: true});
  addEventListener('pointerdown', () => { pressed = true; }, {passive: true});
  addEventListener('pointerup', () => { pressed = false; moved = performance.now(); }, {passive: true});
  addEventListener('pointercancel', () => { pressed = false; }, {passive: true});

  document.addEventListener('htmx:before:swap', (event) => {
    const list = event.target;
    if (!list.matches?.('[data-steady]:hover')) return;
    if (!pressed && performance.now() - moved > REST) return;
    event.preventDefault();
    if (waiting.has(list)) return;
    waiting.add(list);
    setTimeout(() => { waiting.delete(list); htmx.trigger(document.body, 'resync', {}); }, REST);
  });
})();
