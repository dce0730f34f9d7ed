// Counts every clock down against the server's time, in words, shape and colour. Texts: app/web/words.py.
(() => {
  const WORDS = {on_time: 'On time', soon: 'Due soon', overdue: 'Overdue'};
  const root = document.documentElement;
  const announced = new Set();
  let base = {server: Number(root.dataset.now), rate: Number(root.dataset.rate) || 1, local: performance.now()};
  let heard = '';

  const now = () => base.server + (performance.now() - base.local) * base.rate;
  const two = (n) => String(n).padStart(2, '0');

  function span(seconds) {
    if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds % 3600 / 60))}m`;
    return `${Math.floor(seconds / 86400)} days`;
  }

  function timeLeft(seconds) {
    if (seconds <= 0) return 'closed';
    const minutes = Math.floor(seconds / 60);
    if (minutes < 1) return 'under 1 m';
    if (minutes < 60) return `${minutes} m`;
    return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m` : `${Math.floor(minutes / 1440)} days`;
  }

  function write(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  function announce(clock, due) {
    const name = clock.closest('[data-name]')?.dataset.name;
    const key = `${name} ${due}`;
    if (!name || announced.has(key)) return;
    announced.add(key);
    const place = document.getElementById('announcements');
    if (place) place.textContent = `${name} is overdue`;
  }

  function tick(clock, at) {
    const due = Number(clock.dataset.due);
    const seconds = Math.trunc((due - at) / 1000);
    const state = at > due ? 'overdue' : clock.dataset.warn && at >= Number(clock.dataset.warn) ? 'soon' : 'on_time';
    write(clock.querySelector('[data-clock-text]'), (seconds < 0 ? '−' : '') + span(Math.abs(seconds)));
    if (clock.dataset.start) {
      const start = Number(clock.dataset.start);
      const left = Math.min(1, Math.max(0, (due - at) / (due - start))).toFixed(3);
      clock.style.setProperty('--left', left);
    }
    if (clock.dataset.state === state) return;
    clock.dataset.state = state;
    write(clock.querySelector('[data-clock-word]'), `${WORDS[state]}: `);
    if (state === 'overdue') announce(clock, due);
  }

  function leave(element, seconds) {
    write(element, timeLeft(seconds));
    const rest = element.nextElementSibling;
    if (rest?.matches('[data-while-open]')) rest.hidden = seconds <= 0;
  }

  function follow(element) {
    const key = `${element.dataset.now} ${element.dataset.rate}`;
    if (key === heard) return;
    heard = key;
    const rate = Number(element.dataset.rate) || 1;
    const server = Number(element.dataset.now);
    // A clock that was sent with the page is no news.
    if (server !== base.server || rate !== base.rate) base = {server, rate, local: performance.now()};
  }

  function wallClock(element, at) {
    const parts = new Intl.DateTimeFormat('en-GB', {
      timeZone: element.dataset.zone, weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit',
      hourCycle: 'h23',
    }).format(at);
    write(element, parts.replace(',', ''));
  }

  function all() {
    document.querySelectorAll('[data-clock-base]').forEach((element, index, found) => index === found.length - 1 && follow(element));
    const at = now();
    document.querySelectorAll('[data-due]').forEach((clock) => tick(clock, at));
    document.querySelectorAll('[data-until]').forEach((element) => leave(element, Math.floor((Number(element.dataset.until) - at) / 1000)));
    document.querySelectorAll('[data-clock-base]').forEach((element) => wallClock(element, at));
  }

  window.warmline = Object.assign(window.warmline || {}, {now});
  all();
  setInterval(all, 1000);
  document.addEventListener('htmx:after:swap', all);
})();
