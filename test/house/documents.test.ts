import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

test('the table of the README names every variable that is read, and no other', () => {
  const known = new Set([...read('app/config.ts').matchAll(/'(PORT|ROLE|[A-Z][A-Z0-9]*_[A-Z0-9_]+)'/g)].map(([, name]) => name))
  const [, table = ''] = /\n## Configuration\n([\s\S]*?)\n## /.exec(read('README.md')) ?? []
  const rows = table.split('\n').filter(line => line.startsWith('|'))
  const named = rows.flatMap(row => [...row.split('|')[1]!.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name))
  expect(known.size).toBeGreaterThan(20)
  expect([...named].sort()).toEqual([...known].sort())
})

test('the README leads to every file of docs', () => {
  const readme = read('README.md')
  const files = readdirSync(new URL('../../docs', import.meta.url)).filter(file => file.endsWith('.md'))
  expect(files.filter(file => !readme.includes(`](docs/${file})`))).toEqual([])
})

test('what the documents lead to is there', () => {
  const gone = ['README.md', ...readdirSync(new URL('../../docs', import.meta.url)).map(file => `docs/${file}`)].flatMap(file => {
    const targets = [...read(file).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) => target!)
    return targets.filter(target => {
      const url = new URL(target, new URL(`../../${file}`, import.meta.url))
      try {
        readFileSync(url)
        return false
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'EISDIR'
      }
    })
  })
  expect(gone).toEqual([])
})
