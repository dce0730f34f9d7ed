// Day, night or the system's choice, at once and kept in a cookie. Without script the form posts to /me/theme.
(() => {
  document.addEventListener('submit', (event) => {
    const form = event.target.closest('[data-theme-form]');
    if (!form || !event.submitter) return;
    event.preventDefault();
    const value = event.submitter.value;
    if (value === 'system') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.dataset.theme = value;
    document.cookie = `theme=${value}; path=/; max-age=31536000; samesite=lax`;
    form.querySelectorAll('button[name=theme]').forEach((button) => button.setAttribute('aria-pressed', String(button.value === value)));
  });
})();
