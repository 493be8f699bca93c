import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const KEPT = join(import.meta.dirname, '../../node_modules/.cache/packages-of-tests')

/** A package of npm that only tests read. `integrity`: as the registry states it; another content is refused. */
export type Fetched = { name: string; version: string; integrity: string }
type Packed = { name: string; filename: string }[]

const folderOf = ({ name, version }: Fetched) => join(KEPT, `${name.replaceAll('/', '+')}@${version}`)

/**
 * Folders with the contents of packages. They are fetched once, and not installed: nothing of them runs, unless a test does. What a killed test has
 * left is no folder of a package, as only a whole one gets its name.
 */
export async function npmPackages(wanted: Fetched[]): Promise<string[]> {
  const missing = wanted.filter(one => !existsSync(folderOf(one)))
  if (missing.length > 0) await fetch(missing)
  return wanted.map(folderOf)
}

async function fetch(missing: Fetched[]): Promise<void> {
  mkdirSync(KEPT, { recursive: true })
  const draft = mkdtempSync(join(KEPT, '.draft-'))
  try {
    const specs = missing.map(({ name, version }) => `${name}@${version}`)
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', draft, ...specs], { cwd: draft, maxBuffer: 2 ** 26 })
    const packed = JSON.parse(stdout) as Packed
    for (const one of missing) {
      const archive = join(draft, packed.find(({ name }) => name === one.name)!.filename)
      const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
      if (found !== one.integrity) throw new Error(`${one.name}@${one.version} has the content ${found}, and not ${one.integrity}`)
      const whole = mkdtempSync(join(draft, 'package-'))
      await run('tar', ['-xzf', archive, '-C', whole, '--strip-components=1'])
      try {
        renameSync(whole, folderOf(one))
      } catch (error) {
        // Another process was quicker.
        if (!existsSync(folderOf(one))) throw error
      }
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
