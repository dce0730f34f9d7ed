// A file may be dropped anywhere on the area around its field.
(() => {
  const area = (event) => event.target.closest?.('[data-file-drop]');
  const leave = (zone) => zone?.removeAttribute('data-over');

  document.addEventListener('dragover', (event) => {
    const zone = area(event);
    if (!zone) return;
    event.preventDefault();
    zone.setAttribute('data-over', '');
  });
  document.addEventListener('dragleave', (event) => {
    const zone = area(event);
    if (zone && !zone.contains(event.relatedTarget)) leave(zone);
  });
  document.addEventListener('drop', (event) => {
    const zone = area(event);
    if (!zone) return;
    event.preventDefault();
    leave(zone);
    const field = zone.querySelector('input[type=file]');
    if (!event.dataTransfer.files.length) return;
    field.files = event.dataTransfer.files;
    field.dispatchEvent(new Event('change', {bubbles: true}));
  });
})();
