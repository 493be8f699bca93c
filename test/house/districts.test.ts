import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT, type Source, sourcesOf } from './sources.ts'

/** The districts of `domain/`: each imports only those before it, types included. */
const DISTRICTS = [
  'kernel',
  'durable',
  'projects',
  'operators',
  'users',
  'events',
  'catalogue',
  'purchases',
  'audience',
  'growth',
  'analytics',
  'ingestion',
  'integrations',
  'automations',
  'reporting',
  'oversight',
]

const domain = sourcesOf('domain')
const districtOf = (file: string) => file.split('/')[1]!
const readmeOf = (district: string) => readFileSync(join(ROOT, 'domain', district, 'README.md'), 'utf8')
const namedIn = (text: string) => [...text.matchAll(/`([\w-]+)`/g)].map(match => match[1]!)
/** What a README names in the line that begins with the word. */
const lineOf = (district: string, word: string) => readmeOf(district).match(new RegExp(`^${word}: (.*)\\.$`, 'm'))?.[1] ?? ''

const migrations = readdirSync(join(ROOT, 'store/migrations')).map(name => readFileSync(join(ROOT, 'store/migrations', name), 'utf8'))
const made = (pattern: RegExp) => migrations.flatMap(text => [...text.matchAll(pattern)].map(match => match[1]!))
/** Partitions of a table are made as tables of their own; a folder of files is the business of `store/`. */
const tables = (() => {
  const dropped = new Set(made(/^drop table (?:if exists )?(\w+)/gm))
  return made(/^create (?:unlogged )?table (\w+)/gm).filter(name => !dropped.has(name) && name !== 'file_folder')
})()
const ownerOf = new Map(DISTRICTS.flatMap(district => namedIn(lineOf(district, 'Tables')).map(table => [table, district] as const)))

const importedBy = (source: Source) => source.imports.filter(used => used.startsWith('domain/')).map(districtOf)

describe('the districts of the domain', () => {
  test('hold every source of the domain', () => {
    expect(domain.length).toBeGreaterThan(300)
    expect(domain.map(({ file }) => file).filter(file => dirname(file) === 'domain')).toEqual([])
    expect([...new Set(domain.map(({ file }) => districtOf(file)))].sort()).toEqual([...DISTRICTS].sort())
  })

  test('import only districts before them', () => {
    const rank = (district: string) => DISTRICTS.indexOf(district)
    const wrong = domain.flatMap(source =>
      importedBy(source)
        .filter(used => rank(used) > rank(districtOf(source.file)))
        .map(used => `${source.file} imports ${used}`),
    )
    expect(wrong).toEqual([])
  })

  test.each(DISTRICTS)('%s: its README names the folders, the jobs and the imports that it has', district => {
    const own = domain.filter(({ file }) => districtOf(file) === district)
    const imported = new Set(own.flatMap(importedBy).filter(used => used !== district))
    const names = DISTRICTS.filter(name => imported.has(name))
    expect(lineOf(district, 'Imports')).toBe(names.length === 0 ? 'no other district' : names.join(', '))
    const jobs = own.flatMap(({ text }) => [...text.matchAll(/export const \w+_DUE = '([\w-]+)'/g)].map(match => match[1]!))
    expect(namedIn(lineOf(district, 'Jobs'))).toEqual(jobs.sort())
    const folders = readdirSync(join(ROOT, 'domain', district), { withFileTypes: true }).filter(entry => entry.isDirectory())
    const named = [...readmeOf(district).matchAll(/^- `([\w-]+)\/`/gm)].map(match => match[1]!)
    expect(named.sort()).toEqual(folders.map(({ name }) => name).sort())
  })

  test('begin with functions that are there', () => {
    const texts = new Map(
      DISTRICTS.map(name => [
        name,
        domain
          .filter(({ file }) => districtOf(file) === name)
          .map(({ text }) => text)
          .join('\n'),
      ]),
    )
    const missing = DISTRICTS.flatMap(district =>
      namedIn(lineOf(district, 'Begin with'))
        .filter(name => !new RegExp(`export (async )?(function|const|class) ${name}\\b`).test(texts.get(district)!))
        .map(name => `${district}: ${name}`),
    )
    expect(missing).toEqual([])
  })

  test('own each table once', () => {
    const named = DISTRICTS.flatMap(district => namedIn(lineOf(district, 'Tables')))
    expect(named.sort()).toEqual([...new Set(tables)].sort())
  })

  test('insert rows into their own tables alone', () => {
    const wrong = domain.flatMap(({ file, text }) =>
      [...text.matchAll(/insert\s+into\s+(\w+)/gi)]
        .map(match => match[1]!)
        .filter(table => ownerOf.has(table) && ownerOf.get(table) !== districtOf(file))
        .map(table => `${file} inserts into ${table} of ${ownerOf.get(table)}`),
    )
    expect(wrong).toEqual([])
  })

  test('stand in the page for contributors in their order', () => {
    const page = readFileSync(join(ROOT, 'docs/contributing.md'), 'utf8')
    const rows = page.slice(page.indexOf('| district | holds |')).split('\n\n')[0]!
    expect([...rows.matchAll(/^\| (\w+) \|/gm)].map(match => match[1]!).slice(1)).toEqual(DISTRICTS)
  })
})
