import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Which rooms a room may use besides itself. `entry`: the files at the root, which put everything together. */
const MAY_USE: Record<string, string[]> = {
  schemas: [],
  store: [],
  domain: ['store'],
  workflows: ['domain', 'store'],
  workers: ['workflows', 'domain', 'store'],
  api: ['domain', 'schemas', 'store'],
  cli: ['domain', 'store', 'entry'],
  entry: ['api', 'workers', 'workflows', 'domain', 'store', 'schemas', 'cli'],
}
const QUEUES = /^(pg-boss|bullmq|ioredis|@bull-board)(\/|$)/
const SQL = /\b(select\s[\s\S]*\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s)/i

type Source = { file: string; room: string; text: string; imports: string[] }

const roomOf = (file: string) => (file.includes('/') ? file.split('/')[0]! : 'entry')

function sources(): Source[] {
  const rooms = [...Object.keys(MAY_USE).filter(room => room !== 'entry'), '.']
  const files = rooms.flatMap(room =>
    readdirSync(join(ROOT, room), { recursive: room !== '.', encoding: 'utf8' })
      .filter(name => name.endsWith('.ts') && !name.endsWith('.config.ts') && !name.includes('generated/'))
      .map(name => relative(ROOT, join(ROOT, room, name))),
  )
  return files.map(file => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return { file, room: roomOf(file), text, imports: [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1]!) }
  })
}

const all = sources()
const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')

describe('the rooms', () => {
  test('there is something to look at', () => {
    expect(all.length).toBeGreaterThan(60)
    expect(new Set(all.map(source => source.room))).toEqual(new Set(Object.keys(MAY_USE)))
  })

  test('arrows between rooms run one way', () => {
    const wrong = all.flatMap(({ file, room, imports }) =>
      imports
        .filter(path => path.startsWith('.'))
        .map(path => roomOf(relative(ROOT, resolve(ROOT, dirname(file), path))))
        .filter(used => used !== room && !MAY_USE[room]?.includes(used))
        .map(used => `${file} uses ${used}`),
    )
    expect(wrong).toEqual([])
  })

  test('queue libraries are known to the workers alone', () => {
    expect(
      all.filter(({ room, imports }) => room !== 'workers' && imports.some(path => QUEUES.test(path))).map(({ file }) => file),
    ).toEqual([])
  })

  test('SQL lives in domain and store', () => {
    const elsewhere = all.filter(({ room, text }) => room !== 'domain' && room !== 'store' && SQL.test(withoutComments(text)))
    expect(elsewhere.map(({ file }) => file)).toEqual([])
  })

  test('random ids are drawn in one file, "now" is asked of one clock', () => {
    const drawing = all.filter(({ text }) => /Math\.random\(\)\.toString|new Date\(\)/.test(text)).map(({ file }) => file)
    expect(drawing).toEqual([])
    const bytes = all.filter(({ text }) => /randomBytes\(/.test(withoutComments(text))).map(({ file }) => file)
    // Ids; the nonce and the secret of encryption; the embedded server's password.
    expect(bytes.filter(file => !file.startsWith('store/embedded/')).sort()).toEqual([
      'domain/projects/seal.ts',
      'store/ids.ts',
      'store/open.ts',
    ])
  })

  test('no file is named after nothing', () => {
    expect(all.filter(({ file }) => /(^|\/)(utils?|helpers?|common|manager|base|service)\.ts$/.test(file)).map(({ file }) => file)).toEqual(
      [],
    )
  })
})
