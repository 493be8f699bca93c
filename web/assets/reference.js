import { withClientSamples } from './samples.js'
import { shownTheme, themeButton } from './theme-button.js'

/** Of the languages that the reference knows curl and Python's requests are shown. TypeScript is the client's own. */
const HIDDEN = [
  'c',
  'clojure',
  'csharp',
  'dart',
  'fsharp',
  'go',
  'http',
  'java',
  'js',
  'julia',
  'kotlin',
  'node',
  'objc',
  'ocaml',
  'php',
  'powershell',
  'r',
  'ruby',
  'rust',
  'swift',
]

const target = document.querySelector('#reference')
// The reference takes the theme when it is made.
themeButton(() => location.reload())
const response = await fetch(target.dataset.description)
if (!response.ok) {
  target.textContent = `The description of the API was answered with ${response.status}.`
  throw new Error(target.textContent)
}
const description = await response.json()

window.Scalar.createApiReference('#reference', {
  content: target.dataset.description === '/v4/openapi.json' ? withClientSamples(description) : description,
  forceDarkModeState: shownTheme(),
  hideDarkModeToggle: true,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  hiddenClients: {
    ...Object.fromEntries(HIDDEN.map(name => [name, true])),
    shell: ['httpie', 'wget'],
    python: ['python3', 'httpx_sync', 'httpx_async', 'aiohttp'],
  },
  persistAuth: false,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
})
