import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { metrics } from '../../api/metrics.ts'
import { REFERENCES } from '../../web/map.ts'
import { NO_READINESS } from '../harness/no-readiness.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8')
const pagesIn = (folder: string): string[] =>
  readdirSync(new URL(folder, ROOT))
    .filter(file => file.endsWith('.md'))
    .map(file => `${folder}/${file}`)
    .sort()
const pages = pagesIn('docs')
const DECISIONS = 'docs/decisions/README.md'
const decisions = pagesIn('docs/decisions').filter(page => page !== DECISIONS)

/** Paths of the files that a page links to, from the root of the repository. */
const targetsOf = (page: string): string[] =>
  [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) =>
    new URL(target!, new URL(page, ROOT)).href.slice(ROOT.href.length),
  )

test('the page about configuration names every variable that the product reads, and no other', () => {
  const files = ['config', 'open-id', 'pool-sizes', 'retention-days', 'trace-options', 'database-addresses', 'redis-server']
  const sources = files.map(name => read(`app/${name}.ts`)).join()
  const known = new Set([...sources.matchAll(/'(CONSOLE|HOST|PORT|ROLE|[A-Z][A-Z0-9]*_[A-Z0-9_]+)'/g)].map(([, name]) => name))
  const rows = read('docs/configuration.md')
    .split('\n')
    .filter(line => line.startsWith('|'))
  const named = rows.flatMap(row => [...row.split('|')[1]!.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name))
  expect(known.size).toBeGreaterThan(20)
  expect([...named].sort()).toEqual([...known].sort())
})

test('the page about benches has one row for each bench', () => {
  const known = [...read('bench/run.ts').matchAll(/^ {2}'?([a-z-]+)'?: \(\) => import/gm)].map(([, name]) => name)
  const rows = [...read('bench/README.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)
  expect(known.length).toBeGreaterThan(10)
  expect([...rows].sort()).toEqual([...known].sort())
})

test('the tables of the page about operating have every metric of the product, and no other', async () => {
  const measured = metrics(NO_READINESS)
  measured.watchRedis(() => ({ isUp: true, policy: null }))
  const known = [...(await measured.text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!)
  measured.close()
  // Those of the runtime are named by prom-client, as everywhere.
  const own = known.filter(name => !/^(process|nodejs)_/.test(name))
  expect(own.filter(name => !name.startsWith('perennial_'))).toEqual([])
  const rows = read('docs/operating.md')
    .split('\n')
    .filter(line => line.startsWith('| `perennial_'))
  const named = rows.flatMap(row => [...row.split(' | ')[0]!.matchAll(/`(perennial_[a-z_]+)/g)].map(([, name]) => name!))
  expect(own.length).toBeGreaterThan(30)
  expect([...named].sort()).toEqual([...own].sort())
})

test('the README has at most 120 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120)
})

test('every page of docs is linked from the README or from a page that it links to', () => {
  const direct = targetsOf('README.md')
  const reached = new Set([...direct, ...direct.filter(page => pages.includes(page)).flatMap(targetsOf)])
  expect(pages.filter(page => !reached.has(page))).toEqual([])
})

test('decisions are numbered one after the other, at most 60 lines long, and named by their index, which two pages name', () => {
  expect(decisions.map(page => page.split('/').at(-1)!.slice(0, 4))).toEqual(decisions.map((_, n) => `${String(n + 1).padStart(3, '0')}-`))
  expect(decisions.length).toBeGreaterThan(5)
  expect(targetsOf(DECISIONS).filter(target => decisions.includes(target))).toEqual(decisions)
  expect(decisions.filter(page => read(page).trimEnd().split('\n').length > 60)).toEqual([])
  expect(['docs/contributing.md', 'docs/how-it-works.md'].filter(page => !targetsOf(page).includes(DECISIONS))).toEqual([])
})

test.each(decisions)('%s has the sections of a decision', page => {
  const headings = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)
  expect(headings[0]).toMatch(new RegExp(`^${page.split('/').at(-1)!.slice(0, 3)}: `))
  expect(headings.slice(1)).toEqual(['Context', 'Decision', 'Consequences', 'Figures'])
  expect(read(page)).toMatch(/^\*\*Status:\*\* (accepted|superseded by \[\d{3}\]\(.*\)), \d{4}-\d{2}$/m)
})

test('the five commands of CONTRIBUTING are commands of npm or scripts of package.json', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const rows = read('CONTRIBUTING.md')
    .split('\n')
    .filter(line => line.startsWith('| `npm '))
  expect(rows).toHaveLength(5)
  const named = rows.flatMap(row => [...row.split('|')[1]!.matchAll(/npm (?:run )?([a-z]+)/g)].map(([, name]) => name!))
  expect(named.filter(name => name !== 'ci' && !(name in scripts))).toEqual([])
})

/** biome formats by biome.json, an editor by .editorconfig. */
test('.editorconfig agrees with biome', () => {
  const { indentStyle, indentWidth, lineWidth } = JSON.parse(read('biome.json')).formatter
  const settings = Object.fromEntries(
    [
      ...read('.editorconfig')
        .split('[*.md]')[0]!
        .matchAll(/^(\w+) = (.+)$/gm),
    ].map(([, name, value]) => [name, value]),
  )
  expect(settings).toMatchObject({ indent_style: indentStyle, indent_size: String(indentWidth), max_line_length: String(lineWidth) })
})

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

test('every link of the documents has a target', () => {
  const documents = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'examples/README.md',
    'examples/production/README.md',
    'bench/README.md',
    'clients/typescript/README.md',
    ...pages,
    DECISIONS,
    ...decisions,
  ]
  const gone = documents.flatMap(page =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(([link, target, anchor]) => {
      // A reference of the API is drawn by a running service.
      if (REFERENCES.some(({ path }) => path === target)) return []
      const url = new URL(target === '' ? page.split('/').at(-1)! : target!, new URL(page, ROOT))
      try {
        const text = readFileSync(url, 'utf8')
        const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!))
        return anchor === undefined || anchors.includes(anchor) ? [] : [`${page}: ${link}`]
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EISDIR' ? [] : [`${page}: ${link}`]
      }
    }),
  )
  expect(gone).toEqual([])
})
