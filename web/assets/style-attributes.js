// The policy of the page forbids style attributes. A style that a script sets through the object model is allowed.
const { setAttribute } = Element.prototype
Element.prototype.setAttribute = function (name, value) {
  if (name === 'style') this.style.cssText = value
  else setAttribute.call(this, name, value)
}
const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML')
Object.defineProperty(Element.prototype, 'innerHTML', {
  ...innerHTML,
  set(html) {
    const styles = []
    const bare = (html === null ? '' : String(html)).replaceAll(/(<code class="hljs[^>]*?)(?: style="([^"]*)")?>/g, (_, tag, style) => {
      styles.push(style)
      return `${tag}>`
    })
    innerHTML.set.call(this, bare)
    for (const [i, code] of [...this.querySelectorAll('code.hljs')].entries()) if (styles[i]) code.style.cssText = styles[i]
  },
})
