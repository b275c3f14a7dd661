'use strict';
// Measures the page and leaves what it found in an element, for PictureBrowserTest.
addEventListener('load', () => {
  function overlapsIn(view) {
    for (const svg of document.querySelectorAll('svg')) {
      const frame = svg.getBoundingClientRect(), boxes = [...svg.querySelectorAll('text')].map(text => [view + ': ' + text.textContent, text.getBoundingClientRect()]);
      boxes.forEach(([name, a], i) => {
        if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) found.cutOff.push(name);
        for (const [other, b] of boxes.slice(i + 1)) {
          const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (w > 1 && h > 2) found.overlaps.push(name + ' | ' + other);
        }
      });
    }
  }
  const found = { errors: [], overlaps: [], cutOff: [], pale: [], narrowBars: [], notFocusable: [] };
  try {
    found.width = innerWidth;
    found.dark = matchMedia('(prefers-color-scheme: dark)').matches;
    found.headline = document.querySelector('h1').textContent;
    found.violations = document.querySelectorAll('#violations li').length;
    found.height = Math.ceil(document.body.getBoundingClientRect().bottom);
    for (const details of document.querySelectorAll('details')) details.open = true;
    drawLanes(); eventList();
    overlapsIn('first view');
    document.getElementById('clients').checked = true;
    show(0, END);
    overlapsIn('whole run');
    found.legend = [...document.querySelectorAll('#legend [data-kind]')].map(entry => entry.dataset.kind);
    found.scrollWidth = document.documentElement.scrollWidth;
    const labels = [...document.querySelectorAll('svg text')];
    found.labels = labels.length;
    // A label of the diagram never runs into a bar.
    const bars = [...document.querySelectorAll('#diagram rect.lease, #diagram rect.over, #diagram rect.data')].map(bar => bar.getBoundingClientRect());
    for (const text of document.querySelectorAll('#diagram .step text:not([text-anchor=middle])')) {
      const a = text.getBoundingClientRect();
      if (bars.some(b => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)) found.overlaps.push(text.textContent + ' | a bar');
    }
    for (const bar of document.querySelectorAll('#diagram rect.lease, #diagram rect.over, #diagram rect.data')) if (Number(bar.getAttribute('width')) !== 40) found.narrowBars.push(bar.getAttribute('class'));
    for (const step of document.querySelectorAll('#diagram .step')) { step.focus(); if (document.activeElement !== step || !step.getAttribute('aria-label')) found.notFocusable.push(step.textContent); }

    const rgb = colour => colour.match(/[\d.]+/g).map(Number), light = colour => rgb(colour).slice(0, 3).map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
    const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
    const back = getComputedStyle(document.body).backgroundColor;
    for (const text of labels) { const fill = getComputedStyle(text).fill; if (contrast(fill, back) < 4.5) found.pale.push(text.textContent + ' ' + fill); }
    for (const part of document.querySelectorAll('h1, h2, p, #legend span, summary')) { const colour = getComputedStyle(part).color; if (part.textContent && contrast(colour, back) < 4.5) found.pale.push(part.textContent + ' ' + colour); }
  } catch (e) { found.errors.push(String(e.stack || e)); }
  const left = document.createElement('pre');
  left.id = 'measured'; left.textContent = encodeURIComponent(JSON.stringify(found)); document.body.append(left);
});
