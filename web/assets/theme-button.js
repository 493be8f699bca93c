const root = document.documentElement
const preferred = matchMedia('(prefers-color-scheme: dark)')

/** The theme that is shown: 'light' or 'dark'. */
export const shownTheme = () => root.dataset.theme ?? (preferred.matches ? 'dark' : 'light')

/** Shows the button that changes the theme. `changed` is called with the new one. */
export function themeButton(changed = () => {}) {
  const button = document.querySelector('#theme')
  const label = () => {
    button.textContent = shownTheme() === 'dark' ? 'Light' : 'Dark'
    button.setAttribute('aria-label', `Use the ${button.textContent.toLowerCase()} theme`)
  }
  button.addEventListener('click', () => {
    root.dataset.theme = shownTheme() === 'dark' ? 'light' : 'dark'
    try {
      localStorage.setItem('theme', root.dataset.theme)
    } catch {}
    label()
    changed(root.dataset.theme)
  })
  preferred.addEventListener('change', label)
  button.hidden = false
  label()
}
