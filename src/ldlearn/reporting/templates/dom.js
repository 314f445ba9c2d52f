"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An HTML element; strings become text, never markup. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function setOptions(select, values, texts = values) {
  const before = select.value;
  select.replaceChildren(...values.map((value, i) => make("option", { value }, texts[i])));
  if (values.includes(before)) select.value = before;
}

/** A number as short as it can be said with three digits. */
const short = (number) => String(Number(number.toPrecision(3)));
