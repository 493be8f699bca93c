// The alerts as Prometheus itself reads them: their grammar, and when they fire.
import { execFile } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))
const UNPACKED = join(tmpdir(), 'perennial-prometheus')
let promtool = 'promtool'

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** The program of the system, else out of Debian's package, which is not installed: installing it starts a server. */
beforeAll(async () => {
  if (
    await run('promtool', ['--version']).then(
      () => true,
      () => false,
    )
  )
    return
  promtool = join(UNPACKED, 'usr/bin/promtool')
  if (await isThere(promtool)) return
  await mkdir(UNPACKED, { recursive: true })
  await run(
    'sh',
    [
      '-c',
      'flock ../perennial-apt.lock sh -c "apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }" && dpkg-deb -x prometheus_*.deb .',
    ],
    {
      cwd: UNPACKED,
    },
  ).catch(error => {
    throw new Error(`the tests need promtool on the PATH: install it (on Debian: apt-get install prometheus). ${error.message}`)
  })
}, 180_000)

test('promtool finds no fault in the rules', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', 'rules.yaml'], { cwd: FOLDER })
  expect(stdout).toMatch(/SUCCESS: \d+ rules found/)
})

test('the alerts fire when they should, and not before', async () => {
  const { stdout } = await run(promtool, ['test', 'rules', 'rules.test.yaml'], { cwd: FOLDER })
  expect(stdout).toContain('SUCCESS')
})
