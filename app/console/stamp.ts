import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const SOURCES = 'web/console'
/** What the pages are built from besides. The description has the addresses of the operations; the orders are the sample that a page loads. */
const BESIDES = ['package-lock.json', 'schemas/generated/openapi.json', 'examples/cdnow.csv', 'node_modules/vite/package.json']
/** What a build writes, and drafts of it. */
const MADE = /^dist(\.|$)/

/** A hash of everything that decides what the built pages of the console are, in the tree of sources at `root`. */
export async function stampOf(root: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of [...(await sourcesIn(root)), ...BESIDES]) {
    const content = await readFile(join(root, name)).catch(() => null)
    if (content !== null) hash.update(`${name} ${content.length}\n`).update(content)
  }
  return hash.digest('base64url')
}

async function sourcesIn(root: string): Promise<string[]> {
  const folder = join(root, SOURCES)
  const top = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names: string[] = []
  for (const entry of top.filter(({ name }) => !MADE.test(name))) {
    if (entry.isFile()) names.push(entry.name)
    else if (entry.isDirectory()) {
      const inner = await readdir(join(folder, entry.name), { recursive: true, withFileTypes: true })
      names.push(...inner.filter(file => file.isFile()).map(file => join(file.parentPath, file.name).slice(folder.length + 1)))
    }
  }
  return names.map(name => join(SOURCES, name)).sort()
}
