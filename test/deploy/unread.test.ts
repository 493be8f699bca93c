import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { copyPackage } from '../../deploy/tree/copy.ts'
import { isRead, otherBuilds } from '../../deploy/tree/unread.ts'

test.each([
  ['lib/index.js', true],
  ['lib/index.d.ts', false],
  ['lib/index.js.map', false],
  ['README.md', false],
  ['LICENSE.md', true],
  ['lib/test/runner.js', true],
  ['test/runner.js', false],
  ['scripts/wait.lua', true],
  ['native/lib/libpq.so.5.18', true],
])('of a package %s is read: %s', (path, expected) => {
  expect(isRead(path)).toBe(expected)
})

test.each([
  ['a build for bundlers beside the one for Node', { main: 'dist-cjs/index.js', module: 'dist-es/index.js' }, ['dist-es']],
  [
    'both inside one folder',
    { main: 'build/src/index.js', module: 'build/esm/index.js', esnext: 'build/esnext/index.js' },
    ['build/esm', 'build/esnext'],
  ],
  [
    'conditions',
    { exports: { '.': { browser: './web/a.js', types: './types/a.d.ts', import: './esm/a.js', require: './cjs/a.js' } } },
    ['types', 'web'],
  ],
  ['a nested condition', { exports: { '.': { import: { browser: './web/a.js', default: './esm/a.js' } } } }, ['web']],
  ['the same folder for both', { main: 'dist/a.cjs', module: 'dist/a.mjs' }, []],
  ['a folder above that of Node', { main: 'dist/node/a.js', module: 'dist/a.mjs' }, []],
  [
    'patterns, by which anything may be loaded',
    { exports: { './*': './esm/*.js', '.': { browser: './web/a.js', default: './a.js' } } },
    [],
  ],
  ['the top of the package', { main: 'index.js', module: './index.mjs' }, []],
  ['no main', { module: 'es/index.js' }, ['es']],
])('builds that Node never loads: %s', (_, manifest, expected) => {
  expect(otherBuilds(manifest)).toEqual(expected)
})

test('a package is copied without the packages inside of it, which are listed by themselves', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-package-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const from = join(folder, 'from')
  for (const path of ['lib', 'es', 'node_modules/inner']) mkdirSync(join(from, path), { recursive: true })
  writeFileSync(join(from, 'package.json'), JSON.stringify({ main: 'lib/a.js', module: 'es/a.js' }))
  for (const path of ['lib/a.js', 'lib/a.d.ts', 'es/a.js', 'node_modules/inner/package.json']) writeFileSync(join(from, path), '{}')
  copyPackage(from, join(folder, 'to'))
  expect(readdirSync(join(folder, 'to'), { recursive: true }).sort()).toEqual(['lib', 'lib/a.js', 'package.json'])
})
