import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { requireCommand } from '../harness/debian-package.ts'
import { configOf } from './settings.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../../deploy/systemd')
const UNITS = readdirSync(FOLDER).filter(name => name.endsWith('.service'))
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
/** Of 10; systemd calls what is below 2 "OK". */
const MOST_EXPOSED = 2

/** The units as they are installed, below a folder of the test, where the program is that they start. */
function installed(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-units-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'opt/bin'), { recursive: true })
  writeFileSync(join(folder, 'opt/bin/node'), '#!/bin/sh\n')
  chmodSync(join(folder, 'opt/bin/node'), 0o755)
  for (const name of UNITS)
    writeFileSync(join(folder, name.replace('@.', '@8081.')), read(name).replaceAll('/opt/perennial', join(folder, 'opt')))
  return folder
}

const filesIn = (folder: string) =>
  readdirSync(folder)
    .filter(name => name.endsWith('.service'))
    .map(name => join(folder, name))

test('systemd understands every line of the units', async () => {
  await requireCommand('systemd-analyze', 'systemd')
  const folder = installed()
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', ...filesIn(folder)])
  expect(stderr.split('\n').filter(line => line.includes(folder))).toEqual([])
  // It finds a mistake.
  const wrong = join(folder, 'wrong.service')
  writeFileSync(
    wrong,
    read('perennial.service').replace('ProtectSystem=strict', 'ProtectSystem=stricd').replaceAll('/opt/perennial', join(folder, 'opt')),
  )
  const found = await run('systemd-analyze', ['verify', '--man=no', wrong]).catch(error => error)
  expect(found.stderr).toContain('Failed to parse')
})

test.each(UNITS)('%s exposes little', async name => {
  await requireCommand('systemd-analyze', 'systemd')
  const unit = join(installed(), name.replace('@.', '@8081.'))
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit])
  const [, exposure] = /Overall exposure level for .*: ([\d.]+)/.exec(stdout)!
  expect(Number(exposure), stdout).toBeLessThan(MOST_EXPOSED)
})

test.each([
  ['perennial.service', 'all'],
  ['perennial-api@.service', 'api'],
  ['perennial-worker@.service', 'worker'],
])('the service understands the environment of %s', (name, role) => {
  const lines = [
    ...read('perennial.env.example').matchAll(/^([A-Z_0-9]+)=(.*)$/gm),
    ...read(name).matchAll(/(?:^Environment=| )([A-Z_0-9]+)=(\S*)/gm),
  ]
  const env = Object.fromEntries(
    lines.map(([, variable, value]) => [variable!, value!.replace('%i', '8081').replaceAll('%n', 'perennial-api@8081.service')]),
  )
  expect(configOf(env)).toMatchObject({ role, dataDir: '/var/lib/perennial', host: '127.0.0.1', trustedProxies: 1 })
})

test('every variable that the example leaves out is known as well', () => {
  const env = Object.fromEntries(
    [...read('perennial.env.example').matchAll(/^#?([A-Z_0-9]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  )
  expect(configOf(env)).toMatchObject({ redis: { url: 'redis://127.0.0.1:6379' }, s3: { bucket: 'perennial-exports' } })
})
