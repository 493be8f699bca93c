import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type Koa from 'koa'

const WEB = new URL('../web/', import.meta.url)
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}
const GUIDE =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/**
 * The hashes of the styles that Scalar writes into the page; the page allows no others. A test in a browser fails when a version of Scalar
 * has others.
 */
const SCALAR_STYLES: readonly string[] = [
  'rO+6k1mDRASa9Q8IQu9I3bF+bjRdxDreAZCyGSaxzeI=',
  'd7niGYA9R/xp7r1pyc/+3ntTepKCabnrqd2exao76s4=',
  'DLlkYCuDYGe6ME23YkUFB7Tc36rGDeo4mVBFbZX3uaU=',
  '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
  'ZW1GSuo0pKyEx5Ar7ZC5Dflb/mjatjeTW9aVx0iZAzE=',
]
const REFERENCE = GUIDE.replace("style-src 'self'", ["style-src 'self'", ...SCALAR_STYLES.map(hash => `'sha256-${hash}'`)].join(' '))

type Handler = (ctx: Koa.Context) => Promise<void>

/** Every file of a folder, seen from web/, by its path in that folder. */
const filesOf = (folder: string): [string, URL][] =>
  readdirSync(new URL(folder, WEB), { recursive: true, encoding: 'utf8' })
    .filter(name => Object.hasOwn(TYPES, extname(name)))
    .map(name => [name, new URL(`${folder}${name}`, WEB)])

const addressOf = (name: string) => (name === 'index.html' ? '/docs' : `/docs/${name.replace(/\.html$/, '')}`)

/** The pages at `/docs` and all that they load; they load nothing from other servers. */
function addresses(): Map<string, URL> {
  const generated = filesOf('generated/').map(([name, file]): [string, URL] => [
    extname(name) === '.html' ? addressOf(name) : `/docs/assets/${name}`,
    file,
  ])
  const assets = filesOf('assets/').map(([name, file]): [string, URL] => [`/docs/assets/${name}`, file])
  const pictures = filesOf('../docs/screens/').map(([name, file]): [string, URL] => [`/docs/screens/${name}`, file])
  // The file for programs, which stands beside the one for browsers.
  const search = pathToFileURL(createRequire(import.meta.url).resolve('minisearch'))
  return new Map([
    ...generated,
    ...assets,
    ...pictures,
    ['/docs/assets/minisearch.js', new URL('../es/index.js', search)],
    ['/docs/assets/scalar.js', new URL('vendor/scalar.js.gz', WEB)],
  ])
}

const unzip = promisify(gunzip)

/** Reads once, and again only after a failure: the content and its ETag belong together. */
function kept(read: () => Promise<Buffer>): () => Promise<{ content: Buffer; etag: string }> {
  let stored: Promise<{ content: Buffer; etag: string }> | undefined
  const load = async () => {
    const content = await read()
    return { content, etag: createHash('sha256').update(content).digest('base64url') }
  }
  return () => {
    stored ??= load().catch(error => {
      stored = undefined
      throw error
    })
    return stored
  }
}

/** Sends a file, or 304 to a client that has it. A file that is stored compressed is sent compressed to clients that accept it. */
function send(file: URL): Handler {
  const isZipped = extname(file.pathname) === '.gz'
  const type = TYPES[extname(isZipped ? file.pathname.slice(0, -'.gz'.length) : file.pathname)]!
  const stored = kept(() => readFile(file))
  const plain = isZipped ? kept(async () => unzip((await stored()).content)) : stored
  return async ctx => {
    const takesZipped = isZipped && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    const { content, etag } = await (takesZipped ? stored : plain)()
    ctx.type = type
    ctx.set({
      'Content-Security-Policy': /^\/docs\/api(\/|$)/.test(ctx.path) ? REFERENCE : GUIDE,
      'Cache-Control': 'no-cache',
      'Referrer-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
    })
    ctx.etag = etag
    if (isZipped) ctx.vary('Accept-Encoding')
    ctx.status = 200
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    if (takesZipped) ctx.set('Content-Encoding', 'gzip')
    ctx.body = content
  }
}

const redirect =
  (to: string, status: 301 | 302): Handler =>
  async ctx => {
    if (ctx.path === '/') ctx.vary('Accept')
    ctx.redirect(to)
    ctx.status = status
  }

/** Returns the handler for the request of a page or of one of its files; for `/`, which leads to `home`, only if a browser requests it. */
export function documentation(home: () => string): (ctx: Koa.Context) => Handler | undefined {
  const handlers = new Map<string, Handler>([...addresses()].map(([path, file]) => [path, send(file)]))
  handlers.set('/docs/v3', redirect('/docs/api/v3', 301))
  handlers.set('/docs/', redirect('/docs', 301))
  const start: Handler = ctx => redirect(home(), 302)(ctx)
  return ({ path, headers }) => (path === '/' && /text\/html/.test(headers.accept ?? '') ? start : handlers.get(path))
}
