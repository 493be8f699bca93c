// The policy of the page forbids style attributes. A style that a script sets through the object model is allowed, and that of lines of code only
// numbers them.
const { setAttribute } = Element.prototype
Element.prototype.setAttribute = function (name, value) {
  if (name === 'style') this.style.cssText = value
  else setAttribute.call(this, name, value)
}
const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML')
Object.defineProperty(Element.prototype, 'innerHTML', {
  ...innerHTML,
  set(html) {
    innerHTML.set.call(this, String(html).replaceAll(/(<code class="hljs[^>]*?) style="[^"]*"/g, '$1'))
  },
})
