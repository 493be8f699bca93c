import {
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isRead, type Manifest, otherBuilds } from './unread.ts'
import { withoutSymbols } from './without-symbols.ts'

/** Copies a file, a link or a folder with all in it that `isWanted`, by the path below `from`. Modes become 0644 and 0755, whatever the umask was. */
function copyTree(from: string, to: string, isWanted: (path: string) => boolean): void {
  const visit = (path: string) => {
    const [source, target] = [join(from, path), join(to, path)]
    const found = lstatSync(source)
    if (found.isDirectory()) {
      for (const name of readdirSync(source).sort()) if (isWanted(join(path, name))) visit(join(path, name))
    } else if (found.isSymbolicLink()) {
      mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
      symlinkSync(readlinkSync(source), target)
    } else if (found.isFile()) copyFile(source, target)
  }
  visit('')
}

export function copyFile(source: string, target: string, isProgram = (lstatSync(source).mode & 0o100) !== 0): void {
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
  const cut = /(^|\/)node$|\.(node|so)$/.test(source) ? withoutSymbols(readFileSync(source)) : null
  if (cut) writeFileSync(target, cut)
  else copyFileSync(source, target, constants.COPYFILE_FICLONE)
  chmodSync(target, isProgram ? 0o755 : 0o644)
}

/** Copies what Node reads of a package. The packages inside of it are listed by the lock file as it is, and copied by themselves. */
export function copyPackage(from: string, to: string): void {
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Manifest
  const builds = otherBuilds(manifest)
  copyTree(from, to, path => path !== 'node_modules' && isRead(path) && !builds.includes(path))
}

/** Creates the library links of the embedded Postgres, which a package of npm cannot contain: a read-only installation cannot do it later. */
export function linkLibraries(postgres: string): void {
  const native = join(postgres, 'native')
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(postgres, target)
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) symlinkSync(basename(source), path)
  }
}
