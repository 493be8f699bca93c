import type { Context, Layer } from '../context.ts'
import { html } from '../sign-in/html.ts'
import { showPage } from '../sign-in/page.ts'
import { askToSignIn, type SessionDeps, signedIn } from '../sign-in/session.ts'
import type { Built, BuiltFile } from './built.ts'
import { shownSession } from './session.ts'
import type { ConsoleSource } from './source.ts'

const HOME = '/console'
const ASSETS = 'assets/'
const YEAR_SECONDS = 31_536_000
/** A build takes some seconds. */
const REFRESH_SECONDS = '2'

/** The whole application: no inline script and no inline style, and nothing writes HTML from a text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const FEATURES = ['accelerometer', 'camera', 'geolocation', 'gyroscope', 'magnetometer', 'microphone', 'payment', 'usb']

const PROTECTED = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': FEATURES.map(feature => `${feature}=()`).join(', '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

/** The pages of the console and their files, of which those with a hash in their name never change. All other requests go on. */
export function consolePages(deps: SessionDeps, source: ConsoleSource, built: () => Promise<Built | null>): Layer {
  return async (ctx, next) => {
    if (ctx.path !== HOME && !ctx.path.startsWith(`${HOME}/`)) return next()
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next()
    const name = ctx.path.slice(HOME.length + 1)
    const pages = await built()
    const file = (name !== '' && (await pages?.file(name))) || null
    ctx.state.route = file || name.startsWith(ASSETS) ? `${HOME}/${ASSETS}{file}` : `${HOME}/{page}`
    if (file) return sendFile(ctx, file, name.startsWith(ASSETS))
    // A page that asks for a file of an earlier build must not get HTML for a script.
    if (name.startsWith(ASSETS)) return next()
    if (!pages) return showUnbuilt(ctx, source)
    await sendShell(deps, ctx, pages)
  }
}

async function sendShell(deps: SessionDeps, ctx: Context, pages: Built): Promise<void> {
  const session = await sessionOf(deps, ctx, pages).catch(() => undefined)
  if (session === null) return askToSignIn(ctx)
  ctx.set({ ...PROTECTED, 'Cache-Control': 'no-store' })
  ctx.status = 200
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = pages.shell(ctx.path, session)
}

/** Null: nobody is signed in. It fails without a database: the pages then ask for the session themselves, and say what does not work. */
async function sessionOf(deps: SessionDeps, ctx: Context, { stamp }: Built) {
  const who = await signedIn(deps, ctx)
  return who && shownSession({ who, checks: deps.checks, build: async () => stamp || null })
}

function sendFile(ctx: Context, { type, content, compressed, etag }: BuiltFile, isHashed: boolean): void {
  ctx.set({
    ...PROTECTED,
    'Cache-Control': isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
  })
  ctx.type = type
  ctx.vary('Accept-Encoding')
  const isSmall = compressed !== null && ctx.acceptsEncodings('br', 'identity') === 'br'
  ctx.etag = isSmall ? `${etag}-br` : etag
  ctx.status = 200
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  if (isSmall) ctx.set('Content-Encoding', 'br')
  ctx.body = isSmall ? compressed : content
}

/** Without the pages: they come in some seconds, or somebody has to build them. */
function showUnbuilt(ctx: Context, source: ConsoleSource): void {
  const isBuilding = source.state() !== 'missing'
  if (isBuilding) ctx.set({ Refresh: REFRESH_SECONDS, 'Retry-After': REFRESH_SECONDS })
  const body = isBuilding
    ? html`<p role="status">The console is being built. This takes some seconds, and then this page opens it.</p>`
    : html`<p>The pages of the console are not built, and what builds them is not installed here. Build them with</p>
<p><code>npm ci &amp;&amp; npm run build:console</code></p>
<p>or set <code>CONSOLE=off</code>. Everything else works: <a href="/docs">the documentation</a>, the API and <a href="/console/account">your account</a>.</p>`
  showPage(ctx, { title: 'Console', body }, 503)
}
