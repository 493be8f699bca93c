// `npm run generate` brings the charts of docs/analytics.md up to date, and makes the pages that the service serves at /docs from the files of
// docs/. All are committed.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { withCharts } from './generate/charts.ts'
import { classHighlighter } from './generate/highlight.ts'
import { addressOf, guidePage, referencePage, startPage } from './generate/layout.ts'
import { markdownRenderer, type Section } from './generate/markdown.ts'
import { PAGES, REFERENCES } from './map.ts'

const DOCS = new URL('../docs/', import.meta.url)
const GENERATED = new URL('generated/', import.meta.url)

/** What a search finds: a heading of a page, with the text below it. */
type Found = { id: string; page: string; heading: string; body: string }

const found = (path: string, page: string, sections: readonly Section[]): Found[] =>
  sections.map(({ anchor, text, body, level }) => ({
    id: level === 1 ? path : `${path}#${anchor}`,
    page,
    heading: text,
    body: body.replaceAll(/\s+/g, ' ').trim(),
  }))

/** `analytics`: docs/analytics.md with its charts. `files`: what stands in web/generated/, by name. */
export async function generatePages(): Promise<{ analytics: string; files: Map<string, string> }> {
  const names = new Set(PAGES.map(({ name }) => name))
  const guides = globSync(['*.md', 'runbooks/*.md'], { cwd: DOCS })
  const missing = guides.filter(file => !names.has(file.slice(0, -'.md'.length)))
  if (missing.length > 0) throw new Error(`web/map.ts has no place for ${missing.join(', ')}`)
  const analytics = withCharts(readFileSync(new URL('analytics.md', DOCS), 'utf8'))
  const textOf = (name: string) => (name === 'analytics' ? analytics : readFileSync(new URL(`${name}.md`, DOCS), 'utf8'))
  const highlighter = await classHighlighter()
  /** The address of the page to which a page of this folder links by its file. */
  const pageFrom = (folder: string) => (file: string) => {
    const name = posix.join(folder, file).slice(0, -'.md'.length)
    return file.endsWith('.md') && names.has(name) ? addressOf(name) : null
  }

  const files = new Map<string, string>()
  const search: Found[] = []
  for (const { name, title } of PAGES) {
    const { html, headings, sections } = markdownRenderer(highlighter.html, pageFrom(posix.dirname(name)))(textOf(name))
    files.set(`${name}.html`, guidePage({ path: addressOf(name), name, title, html, headings }))
    search.push(...found(addressOf(name), title, sections))
  }
  files.set('index.html', guidePage({ path: '/docs', name: '', title: 'Documentation', html: startPage(), headings: [] }))
  for (const { path, title, description } of REFERENCES)
    files.set(`${path.slice('/docs/'.length)}.html`, referencePage(path, title, description))
  files.set('search.json', `${JSON.stringify(search)}\n`)
  files.set('code.css', highlighter.css())
  return { analytics, files }
}

if (import.meta.main) {
  const { analytics, files } = await generatePages()
  writeFileSync(new URL('analytics.md', DOCS), analytics)
  rmSync(GENERATED, { recursive: true, force: true })
  for (const [name, text] of files) {
    const file = new URL(name, GENERATED)
    mkdirSync(new URL('.', file), { recursive: true })
    writeFileSync(file, text)
  }
}
