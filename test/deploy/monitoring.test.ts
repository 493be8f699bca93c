// Alerts and dashboards speak of metrics that exist, and each alert leads to a page whose commands exist.
import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Metrics, metrics } from '../../api/metrics.ts'
import { root } from '../../cli/commands.ts'
import { isGroup } from '../../cli/definition.ts'
import { DASHBOARDS } from '../../deploy/grafana/definitions.ts'
import { dashboardFiles, dashboardOf } from '../../deploy/grafana/generate.ts'
import openapi from '../../schemas/generated/openapi.json' with { type: 'json' }
import { NO_READINESS } from '../harness/no-readiness.ts'

const ROOT = new URL('../../', import.meta.url)
const textOf = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

type Rule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}
const rules = (parse(textOf('deploy/prometheus/rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(group => group.rules)
const runbooks = globSync('docs/runbooks/*.md', { cwd: ROOT.pathname }).sort()
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...DASHBOARDS.flatMap(({ title, panels }) =>
    panels.flatMap(panel => panel.lines.map(([expression]) => [`${title}: ${panel.title}`, expression] as const)),
  ),
]

let measurements: Metrics
let text: string
beforeAll(async () => {
  measurements = metrics(NO_READINESS, 'api')
  measurements.watchRedis(() => ({ isUp: true, policy: 'noeviction' }))
  text = await measurements.text()
})
afterAll(() => measurements.close())

const OF_PROMETHEUS = new Set(['up'])
const namesIn = (expression: string) =>
  [...expression.matchAll(/\b(?:perennial|process)_[a-z_]+|\bup\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))

test.each(expressions)('%s asks for metrics and labels that there are', (_, expression) => {
  const names = namesIn(expression)
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter(name => !OF_PROMETHEUS.has(name) && !text.includes(`# TYPE ${name} `))).toEqual([])
})

test('each alert has a severity, a summary and a page, and each page an alert', () => {
  const wrong = rules.filter(({ labels, annotations }) => !/^(warning|critical)$/.test(labels.severity) || annotations.summary.length < 10)
  expect(wrong).toEqual([])
  const pages = new Set(rules.map(({ annotations }) => `${annotations.runbook_url.slice(1)}.md`))
  expect([...pages].sort()).toEqual(runbooks)
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

describe.each(runbooks)('%s', file => {
  const page = textOf(file)

  test('says what it means, what users notice, three commands and how it ends', () => {
    expect([...page.matchAll(/^\*\*(.+?)\.\*\*/gm)].map(([, part]) => part)).toEqual([
      'What it means',
      'What users notice',
      'First commands',
      'How it ends',
    ])
    expect(page.match(/^```sh$/gm)).toHaveLength(3)
  })

  test('names operations and commands that there are', () => {
    const asked = [...page.matchAll(/\$URL(\/v4\/[^"?]+)(?:\?([^"]*))?"/g)]
    const unknown = asked.filter(([, path = '', query = '']) => {
      const known = parametersOf(path)
      return !known || [...new URLSearchParams(query).keys()].some(name => !known.includes(name))
    })
    expect(unknown.map(([address]) => address)).toEqual([])
    // To curl brackets are ranges unless it is told otherwise.
    expect(page).not.toMatch(/curl -s "[^"]*\[/)
    const called = [...page.matchAll(/npm run cli -- ([a-z-]+) ([a-z-]+)/g)]
    expect(called.filter(([, group, name]) => !isCommand(group!, name!)).map(([call]) => call)).toEqual([])
  })
})

type Parameter = { name: string } | { $ref: string }

/** The parameters of an address such as `/v4/integrations/ID/test`; undefined: there is none. */
function parametersOf(path: string): string[] | undefined {
  const form = new RegExp(`^${path.replaceAll(/\/ID(?=\/|$)/g, '/\\{[a-z_]+\\}')}$`)
  const found = Object.entries(openapi.paths).find(([known]) => form.test(known))
  const { parameters } = openapi.components as { parameters: Record<string, { name: string }> }
  const named = (one: Parameter) => ('$ref' in one ? parameters[one.$ref.split('/').at(-1)!]!.name : one.name)
  return found && Object.values(found[1]).flatMap(one => ((one as { parameters?: Parameter[] }).parameters ?? []).map(named))
}

function isCommand(group: string, name: string): boolean {
  const found = root.commands.find(command => command.name === group)
  return found !== undefined && isGroup(found) && found.commands.some(command => command.name === name)
}

describe('dashboards', () => {
  test('are those of their definitions', () => {
    const files = dashboardFiles()
    expect([...files].filter(([name, made]) => textOf(`deploy/grafana/${name}`) !== made).map(([name]) => name)).toEqual([])
    expect(globSync('deploy/grafana/*.json', { cwd: ROOT.pathname }).length).toBe(files.size)
  })

  test.each(DASHBOARDS)('$title has panels that do not overlap, within 24 columns', dashboard => {
    const taken = new Set<string>()
    for (const { gridPos } of dashboardOf(dashboard).panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), `${x},${y}`).toBe(false)
          taken.add(`${x},${y}`)
        }
    }
  })
})
