import { startSearch } from './search.js'
import { themeButton } from './theme-button.js'

const COPIED_MS = 1_500

themeButton()
startSearch()

// Only a page that came over TLS, or from this machine, may write to the clipboard.
for (const button of navigator.clipboard ? document.querySelectorAll('.copy') : []) {
  button.hidden = false
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(button.previousElementSibling.textContent).then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => {
      button.textContent = 'Copy'
    }, COPIED_MS)
  })
}

/** Marks the heading that is being read, in the list of this page. */
const links = new Map([...document.querySelectorAll('.contents a')].map(link => [decodeURIComponent(link.hash.slice(1)), link]))
const observer = new IntersectionObserver(
  entries => {
    const entered = entries.find(({ isIntersecting }) => isIntersecting)
    if (!entered) return
    for (const link of links.values()) link.removeAttribute('aria-current')
    links.get(entered.target.id)?.setAttribute('aria-current', 'true')
  },
  { rootMargin: '0px 0px -70% 0px' },
)
for (const id of links.keys()) observer.observe(document.getElementById(id))
