// Builder of elements. Children become text nodes or are elements already, so nothing that a server sends is read as HTML.
const SVG = 'http://www.w3.org/2000/svg';

function built(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      element[name] = value;
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return element;
}

export function html(name, attributes = {}, ...children) {
  return built(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return built(document.createElementNS(SVG, name), attributes, children);
}

export function facts(pairs) {
  return html('dl', {}, pairs
      .filter(([, value]) => value !== '' && value !== undefined)
      .map(([term, value]) => [html('dt', {}, term), html('dd', {}, value)]));
}

const HANDLERS = ['onclick'];

// Makes the children of an element like the given ones, and keeps each element that stays: with its focus, a selection in it, and a
// click that has begun. An update comes every second.
export function update(element, ...children) {
  morph(element, children.flat(Infinity).filter(Boolean));
}

function morph(parent, wanted) {
  wanted.forEach((next, index) => {
    const old = parent.childNodes[index];
    if (!old) {
      parent.append(next);
    } else if (old.nodeName !== next.nodeName || old.id !== next.id) {
      old.replaceWith(next);
    } else if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== next.data) {
        old.data = next.data;
      }
    } else {
      attributes(old, next);
      morph(old, [...next.childNodes]);
    }
  });
  while (parent.childNodes.length > wanted.length) {
    parent.lastChild.remove();
  }
}

function attributes(old, next) {
  for (const {name} of [...old.attributes]) {
    if (!next.hasAttribute(name)) {
      old.removeAttribute(name);
    }
  }
  for (const {name, value} of next.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
  for (const handler of HANDLERS) {
    old[handler] = next[handler];
  }
}
