// A link has its code behind the #, which no server sees. Without this script the reader pastes it.
const field = document.querySelector('input[name=code]')
const code = decodeURIComponent(location.hash.slice(1))
if (field && code !== '') {
  field.value = code
  // It belongs neither to the history of the browser nor on the screen.
  history.replaceState(null, '', location.pathname + location.search)
  field.closest('.field').hidden = true
  document.querySelector('main form input:not([type=hidden]):not([name=code])')?.focus()
}
