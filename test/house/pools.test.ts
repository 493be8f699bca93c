import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

test('every pool of a process that executes or creates jobs knows the lease: no frozen transaction outlasts it', () => {
  const pools = ['app', 'cli', 'workers'].flatMap(room =>
    readdirSync(new URL(room, ROOT), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .flatMap(name => readFileSync(new URL(`${room}/${name}`, ROOT), 'utf8').match(/\bconnect\(\{[^)]*\)/g) ?? []),
  )
  expect(pools.length).toBeGreaterThan(5)
  expect(pools.filter(options => !/\bleaseMs\b/.test(options))).toEqual([])
})
