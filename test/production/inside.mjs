// Runs inside of an installation, by its own Node and in its folder: loads every package that its sources name, and draws a chart as reports do.
import { readdirSync, readFileSync } from 'node:fs'

const ROOMS = ['api', 'app', 'cli', 'domain', 'schemas', 'store', 'workers', 'workflows']
const NAMED = /(?:\b(?<!distinct )from|\bimport\(|createRequire\(import\.meta\.url\)\(|^import)\s*'([a-z@][^']*)'/gm
const names = new Set()
for (const room of ROOMS)
  for (const entry of readdirSync(room, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && /\.(ts|js)$/.test(entry.name))
      for (const [, name] of readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')
        .replaceAll(/^ *(\/\/|\*|\/\*).*$/gm, '')
        .matchAll(NAMED))
        if (!name.startsWith('node:')) names.add(name)
const failed = []
for (const name of names) await import(name).catch(error => failed.push(`${name}: ${error.message}`))

const day = 86_400
const data = Array.from({ length: 31 }, (_, i) => ({ start_time: i * day, end_time: (i + 1) * day, value: i, partial: false }))
const answer = {
  ...{
    code: 'sales',
    from: 0,
    to: 31 * day,
    unit: 'day',
    currency: 'EUR',
    measure: 'usd',
    totalType: 'sum',
    seriesRelation: 'partsOfWhole',
  },
  series: [{ label: 'Sales', total: 465, totalPrev: 1, data, dataPrev: data }],
  incomplete_from: 20 * day,
}
const { consoleDrawing } = await import(`${process.cwd()}/app/console/drawing.ts`)
const drawing = consoleDrawing()
const chart = { figure: { title: 'Sales', filters: [], query: {}, answer }, zone: 'Europe/Berlin', id: 'c1' }
const [svg, png] = [await drawing.svg(chart), await drawing.png(chart)]
console.log(JSON.stringify({ packages: names.size, failed, svg: svg?.length ?? 0, png: png?.length ?? 0 }))
