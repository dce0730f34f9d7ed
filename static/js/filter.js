// A filter that htmx applies in place stands in the address too, so that a reload shows the same.
document.addEventListener('htmx:after:request', (event) => {
  const form = event.detail.ctx.sourceElement.closest?.('form[data-filter]');
  if (!form || event.detail.ctx.response?.status !== 200) return;
  const chosen = [...new FormData(form)].filter(([, value]) => value);
  history.replaceState(history.state, '', `${form.action}?${new URLSearchParams(chosen)}`);
});
