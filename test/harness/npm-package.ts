import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A package of npm that only tests read. `integrity`: as the registry states it; another content is refused. */
export type Fetched = { name: string; version: string; integrity: string }

/**
 * The folder with the content of the package. It is fetched once for a machine and never installed: nothing of it runs but what a test imports.
 * Whoever finds a half of it left by a killed test fetches it again, as only a whole one gets its name.
 */
export async function npmPackage({ name, version, integrity }: Fetched): Promise<string> {
  const parent = join(tmpdir(), `perennial-packages-${process.getuid?.() ?? 0}`)
  const folder = join(parent, `${name.replaceAll('/', '+')}@${version}`)
  if (existsSync(folder)) return folder
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const draft = mkdtempSync(join(parent, '.draft-'))
  try {
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', draft, `${name}@${version}`], { cwd: draft })
    const archive = join(draft, (JSON.parse(stdout) as { filename: string }[])[0]!.filename)
    const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
    if (found !== integrity) throw new Error(`${name}@${version} has the content ${found}, and not ${integrity}`)
    await run('tar', ['-xzf', archive, '-C', draft])
    try {
      renameSync(join(draft, 'package'), folder)
    } catch (error) {
      // Another file was quicker.
      if (!existsSync(folder)) throw error
    }
    return folder
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
