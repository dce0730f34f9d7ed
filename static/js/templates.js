// The template picker: filter by words and language, and keep the preview in step with the fields.
(() => {
  document.addEventListener('input', (event) => {
    const picker = event.target.closest?.('[data-templates]');
    if (!picker) return;
    if (event.target.dataset.fills) fill(event.target);
    else filter(picker);
  });

  function fill(field) {
    field.form.querySelectorAll(`[data-variable="${CSS.escape(field.dataset.fills)}"]`).forEach((place) => {
      place.textContent = field.value || '…';
    });
  }

  function filter(picker) {
    const wanted = picker.querySelector('[data-template-search]').value.trim().toLowerCase();
    const lang = picker.querySelector('[data-template-language]').value;
    let shown = 0;
    picker.querySelectorAll('[data-template]').forEach((item) => {
      const fits = (!lang || item.dataset.lang === lang) && item.textContent.toLowerCase().includes(wanted);
      item.hidden = !fits;
      shown += fits;
    });
    picker.querySelector('[data-template-none]').hidden = shown > 0;
  }
})();
