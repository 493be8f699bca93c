import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { type BuildManifest, pageLinks } from './page-links.ts'

/** The file that the build writes last. */
const MANIFEST = 'manifest.json'
const STAMP = 'stamp'
const SHELL = 'index.html'
const NOT_SERVED = new Set([MANIFEST, STAMP, SHELL])

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
}
const COMPRESSED = new Set(['.js', '.css', '.svg'])

const brotli = promisify(brotliCompress)

/** `compressed`: null until it has been made, and for what does not get smaller. */
export type BuiltFile = { type: string; content: Buffer; etag: string; compressed: Buffer | null }

export type Built = {
  /** Says which sources were built. */
  stamp: string
  /** The page for an address, with links to what that page loads at once, and with the session that it is shown to, where that is known. */
  shell(path: string, session: object | undefined): string
  /** A file by its path below /console; null: there is none. */
  file(name: string): Promise<BuiltFile | null>
}

/**
 * The pages of the folder as they are now; null while there are none. Another build of them, by this process or another one, is noticed at the
 * next question.
 */
export function builtPages(folder: string): () => Promise<Built | null> {
  let known: { mark: string; built: Promise<Built> } | undefined
  return async () => {
    const mark = await markOf(folder)
    if (mark === null) return null
    if (known?.mark !== mark) known = { mark, built: open(folder) }
    const { built } = known
    return built.catch(error => {
      if (known?.built === built) known = undefined
      // The folder was replaced while it was read.
      return nullIfGone(error)
    })
  }
}

async function markOf(folder: string): Promise<string | null> {
  try {
    const { ino, size, mtimeMs } = await stat(join(folder, MANIFEST))
    return `${ino} ${size} ${mtimeMs}`
  } catch (error) {
    return nullIfGone(error)
  }
}

/** Null for a file that is not there. */
function nullIfGone(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
  throw error
}

async function open(folder: string): Promise<Built> {
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const manifest: BuildManifest = JSON.parse(await read(MANIFEST))
  const html = await read(SHELL)
  const stamp = (await read(STAMP).catch(() => '')).trim()
  const listed = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = listed.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const served = new Set(names.map(name => name.replaceAll(sep, '/')).filter(name => !NOT_SERVED.has(name) && extname(name) in TYPES))
  const files = new Map<string, Promise<BuiltFile>>()
  const compress = oneByOne()
  const load = async (name: string): Promise<BuiltFile> => {
    const content = await readFile(join(folder, name))
    const etag = createHash('sha256').update(content).digest('base64url')
    const file: BuiltFile = { type: TYPES[extname(name)]!, content, etag, compressed: null }
    if (COMPRESSED.has(extname(name))) void compress(file)
    return file
  }
  return {
    stamp,
    // By a function: a text would be searched for `$&` and the like.
    shell: (path, session) => html.replace('</head>', () => `${pageLinks(manifest, path, html)}${sessionBlock(session)}</head>`),
    async file(name) {
      if (!served.has(name)) return null
      const file = files.get(name) ?? load(name)
      files.set(name, file)
      return file.catch(error => {
        files.delete(name)
        return nullIfGone(error)
      })
    },
  }
}

/** Data and no script: the policy of the page allows it, and nothing executes it. Without `<` a text cannot end the element. */
const sessionBlock = (session: object | undefined): string =>
  session === undefined ? '' : `<script type="application/json" id="session">${JSON.stringify(session).replaceAll('<', '\\u003c')}</script>`

/**
 * Makes the smallest form of files, one at a time: it takes a second for a megabyte, and nobody waits for it. Until it is there the file is sent as
 * it is.
 */
function oneByOne(): (file: BuiltFile) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  const make = async (file: BuiltFile) => {
    const { BROTLI_PARAM_QUALITY: quality, BROTLI_MAX_QUALITY: most, BROTLI_PARAM_SIZE_HINT: hint } = constants
    file.compressed = await brotli(file.content, { params: { [quality]: most, [hint]: file.content.length } }).catch(() => null)
  }
  return file => {
    last = last.then(() => make(file))
    return last
  }
}
