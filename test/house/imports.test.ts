import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ROOT, roomOf, type Source, sourcesOf, withoutComments } from './sources.ts'

/** The rooms that a room may import besides itself. */
const MAY_IMPORT: Record<string, string[]> = {
  schemas: [],
  store: [],
  domain: ['store'],
  workflows: ['domain', 'store'],
  workers: ['workflows', 'domain', 'store'],
  api: ['domain', 'schemas', 'store'],
  cli: ['workflows', 'domain', 'schemas', 'store'],
  app: ['api', 'workers', 'workflows', 'domain', 'store', 'schemas', 'cli'],
}
/** The only files that a room may import from a higher room. */
const EXCEPTIONS: Record<string, RegExp> = {
  // The commands read the configuration of the service and print its errors.
  cli: /^app\/(config|exit-line|logger|retired-settings|secret-files)\.ts$/,
}
const QUEUES = /^(pg-boss|bullmq|ioredis|@bull-board)(\/|$)/
const SQL = /\b(select\s[\s\S]*\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s)/i

const all: Source[] = Object.keys(MAY_IMPORT).flatMap(sourcesOf)

describe('the rooms', () => {
  test('have sources with imports', () => {
    expect(all.length).toBeGreaterThan(300)
    expect(new Set(all.map(source => source.room))).toEqual(new Set(Object.keys(MAY_IMPORT)))
  })

  test('contain every source', () => {
    const sources = readdirSync(ROOT).filter(name => name.endsWith('.ts') && !name.endsWith('.config.ts'))
    expect(sources).toEqual([])
  })

  test('import each other in one direction only', () => {
    const wrong = all.flatMap(({ file, room, imports }) =>
      imports
        .filter(used => roomOf(used) !== room && !MAY_IMPORT[room]?.includes(roomOf(used)) && !EXCEPTIONS[room]?.test(used))
        .map(used => `${file} imports ${used}`),
    )
    expect(wrong).toEqual([])
  })

  test('no files import each other in a cycle, types included', () => {
    const importsOf = new Map(all.map(({ file, imports }) => [file, imports]))
    const circles: string[] = []
    const path: string[] = []
    const done = new Set<string>()
    const visit = (file: string) => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      if (done.has(file)) return
      done.add(file)
      path.push(file)
      for (const used of importsOf.get(file) ?? []) visit(used)
      path.pop()
    }
    for (const { file } of all) visit(file)
    expect(circles).toEqual([])
  })

  test('only the workers import queue libraries', () => {
    const knowing = all.filter(({ room, packages }) => room !== 'workers' && packages.some(name => QUEUES.test(name)))
    expect(knowing.map(({ file }) => file)).toEqual([])
  })

  test('one file knows the library that sends traces, and is loaded where they are sent', () => {
    const knowing = all.filter(({ packages }) => packages.some(name => name.startsWith('@opentelemetry/'))).map(({ file }) => file)
    expect(knowing).toEqual(['app/open-telemetry.ts'])
    const importing = all.filter(({ imports }) => imports.includes('app/open-telemetry.ts'))
    expect(importing.map(({ file }) => file)).toEqual(['app/traces.ts'])
    expect(importing[0]!.text).not.toMatch(/from '.\/open-telemetry.ts'/)
  })

  test('one file loads what the build of the console makes for a process without a browser', () => {
    const loading = all.filter(({ text }) => /'server\.js'|web\/console\/dist/.test(withoutComments(text))).map(({ file }) => file)
    expect(loading).toEqual(['app/console/drawing.ts'])
  })

  test('only domain and store contain SQL', () => {
    const elsewhere = all.filter(({ room, text }) => room !== 'domain' && room !== 'store' && SQL.test(withoutComments(text)))
    expect(elsewhere.map(({ file }) => file)).toEqual([])
  })

  test('the audit log is written by handlers, commands, the first start, and where a store or an automation gives somebody something', () => {
    const byItself = ['domain/purchases/bought-by-another.ts', 'domain/automations/automation-runs/extend-grant.ts']
    const importing = all.filter(
      ({ file, imports }) => imports.includes('domain/kernel/audit/record.ts') && !file.startsWith('domain/kernel/audit/'),
    )
    const elsewhere = importing.filter(
      ({ file, room, text }) => !['api', 'cli', 'app'].includes(room) && !byItself.includes(file) && /\baudit\(/.test(text),
    )
    expect(elsewhere.map(({ file }) => file)).toEqual([])
  })

  test('one file generates random ids, and one clock gives the time', () => {
    const drawing = all.filter(({ text }) => /Math\.random\(\)\.toString|new Date\(\)/.test(text)).map(({ file }) => file)
    expect(drawing).toEqual([])
    const bytes = all.filter(({ text }) => /randomBytes\(/.test(withoutComments(text))).map(({ file }) => file)
    // Ids; the nonce and the secret of encryption; the embedded server's password.
    expect(bytes.filter(file => !file.startsWith('store/embedded/')).sort()).toEqual([
      'domain/projects/secrets.ts',
      'store/ids.ts',
      'store/open.ts',
    ])
  })

  test('no file has a name without meaning (utils, helpers, …)', () => {
    const named = all.filter(({ file }) => /(^|\/)(utils?|helpers?|common|manager|base|service)\.ts$/.test(file))
    expect(named.map(({ file }) => file)).toEqual([])
  })
})
