import { MAP, PAGES, type Page, REFERENCES } from '../map.ts'
import { escaped } from './escaped.ts'
import type { Heading } from './markdown.ts'

export const addressOf = (name: string): string => `/docs/${name}`

const item = (path: string, title: string, current: string) =>
  `<li><a href="${path}"${path === current ? ' aria-current="page"' : ''}>${escaped(title)}</a></li>`

type Group = { group: string; links: (readonly [path: string, title: string])[] }

const GROUPS: Group[] = [
  ...MAP.map(({ group, pages }) => ({ group, links: pages.map(({ name, title }) => [addressOf(name), title] as const) })),
  { group: 'Reference', links: REFERENCES.map(({ path, title }) => [path, title] as const) },
]

const lists = (groups: readonly Group[], current: string): string =>
  groups
    .map(
      ({ group, links }) =>
        `<section><h2>${group}</h2><ul>${links.map(([path, title]) => item(path, title, current)).join('')}</ul></section>`,
    )
    .join('\n')

const GUIDE_STYLES = ['frame', 'search', 'navigation', 'text', 'code']
const REFERENCE_STYLES = ['reference', 'code']

const head = (title: string, stylesheets: readonly string[]) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Perennial</title>
<link rel="icon" href="/docs/assets/icon.svg">
${stylesheets.map(name => `<link rel="stylesheet" href="/docs/assets/${name}.css">`).join('\n')}
<script src="/docs/assets/theme.js"></script>
</head>
`

const header = `<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/docs"><img src="/docs/assets/icon.svg" alt="" width="22" height="22">Perennial</a>
<search>
<label class="unseen" for="search">Search the documentation</label>
<input id="search" type="search" placeholder="Search" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list">
<ul id="results" role="listbox" aria-label="Results" hidden></ul>
<p id="search-state" role="status"></p>
</search>
<button type="button" id="theme" hidden>Theme</button>
</header>
`

/** The headings of the second and the third level; a page with fewer than three has no list of them. */
function contents(headings: readonly Heading[]): string {
  const listed = headings.filter(({ level }) => level === 2 || level === 3)
  if (listed.length < 3) return ''
  const line = ({ level, text, anchor }: Heading) => `<li class="level-${level}"><a href="#${anchor}">${escaped(text)}</a></li>`
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${listed.map(line).join('')}</ul></nav>\n`
}

function neighbours(name: string): string {
  const i = PAGES.findIndex(page => page.name === name)
  const link = (page: Page | undefined, rel: 'prev' | 'next' | 'up', word: string) =>
    page ? `<a rel="${rel}" href="${addressOf(page.name)}"><span>${word}</span>${escaped(page.title)}</a>` : '<span></span>'
  // A page below another one is read by itself.
  const [above] = name.split('/')
  if (above !== name)
    return `<nav class="neighbours" aria-label="The page above">${link(
      PAGES.find(page => page.name === above),
      'up',
      'Back to',
    )}</nav>`
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(PAGES[i - 1], 'prev', 'Before')}${link(PAGES[i + 1], 'next', 'Next')}</nav>`
}

export type Guide = { path: string; name: string; title: string; html: string; headings: readonly Heading[] }

export const guidePage = ({ path, name, title, html, headings }: Guide): string => `${head(title, GUIDE_STYLES)}<body>
${header}<div class="columns">
<details class="menu"><summary>All pages</summary><nav aria-label="All pages">${lists(GROUPS, path)}</nav></details>
<nav class="side" aria-label="Pages">${lists(GROUPS, path)}</nav>
<main id="content">
${html}${name === '' ? '' : neighbours(name)}
</main>
${contents(headings)}</div>
<script type="module" src="/docs/assets/docs.js"></script>
</body>
</html>
`

/** The page in which the reference of one description is drawn. */
export const referencePage = (path: string, title: string, description: string): string => `${head(title, REFERENCE_STYLES)}<body>
<nav class="references" aria-label="References"><a class="brand" href="/docs"><img src="/docs/assets/icon.svg" alt="" width="20" height="20">Guides</a>${REFERENCES.map(
  reference => `<a href="${reference.path}"${reference.path === path ? ' aria-current="page"' : ''}>${escaped(reference.title)}</a>`,
).join('')}<button type="button" id="theme" hidden>Theme</button></nav>
<main id="reference" data-description="${description}"></main>
<script src="/docs/assets/style-attributes.js"></script>
<script src="/docs/assets/scalar.js"></script>
<script type="module" src="/docs/assets/reference.js"></script>
</body>
</html>
`

const card = ({ name, title, about }: Page) =>
  `<li><a href="${addressOf(name)}"><strong>${escaped(title)}</strong>${escaped(about ?? '')}</a></li>`

/** The first page: where each kind of reader begins, and what else there is. */
export function startPage(): string {
  return `<h1>Perennial</h1>
<p class="lead">Subscription analytics and entitlements that you host, with automations, exports and reports that never silently fail to happen, and never happen twice.</p>
<ul class="cards">${MAP[0]!.pages.map(card).join('')}</ul>
<div class="lists">${lists(GROUPS.slice(1), '')}</div>
`
}
