import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { BuildState, ConsoleSource } from '../../api/console/source.ts'
import { validateError } from '../../schemas/generated/console/operations.ts'
import type { Seen, Visitor } from './operators.ts'

/** Built pages in the form that the build gives them. */
const FILES: Record<string, string> = {
  'index.html':
    '<!doctype html><html lang="en"><head><title>Perennial</title><script src="/console/scheme.js"></script><script type="module" crossorigin src="/console/assets/index-AAAA1111.js"></script><link rel="stylesheet" crossorigin href="/console/assets/index-BBBB2222.css"></head><body><div id="root"></div></body></html>',
  'scheme.js': 'document.documentElement.dataset.theme = "dark"',
  stamp: 'stamp-of-these-pages\n',
  'assets/index-AAAA1111.js': `export const shell = '${'x'.repeat(2_000)}'`,
  'assets/index-BBBB2222.css': 'body { margin: 0 }',
  'assets/chart-CCCC3333.js': 'export const chart = 1',
  'assets/chart-DDDD4444.css': 'svg { display: block }',
  'assets/drawing-EEEE5555.js': 'export const drawing = 1',
  'assets/overview-FFFF6666.js': 'export const overview = 1',
  'assets/inter-GGGG7777.woff2': 'no font',
  'manifest.json': JSON.stringify({
    'index.html': { file: 'assets/index-AAAA1111.js', css: ['assets/index-BBBB2222.css'], isEntry: true },
    '_drawing.js': { file: 'assets/drawing-EEEE5555.js', imports: ['index.html'] },
    'pages/chart/index.tsx': {
      file: 'assets/chart-CCCC3333.js',
      css: ['assets/chart-DDDD4444.css'],
      imports: ['index.html', '_drawing.js'],
      isDynamicEntry: true,
    },
    'pages/overview/index.tsx': { file: 'assets/overview-FFFF6666.js', imports: ['index.html'], isDynamicEntry: true },
  }),
}

export type FakeConsole = ConsoleSource & {
  build(files?: Record<string, string>): Promise<void>
  become(state: BuildState): void
  remove(): Promise<void>
}

/** A folder with pages that need no build. */
export async function fakeConsole(): Promise<FakeConsole> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-console-'))
  let state: BuildState = 'built'
  const build = async (files = FILES) => {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
  }
  await build()
  return {
    folder,
    state: () => state,
    become: next => {
      state = next
    },
    build,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** What a page of the console sends with a change. */
export const OF_CONSOLE = { 'Content-Type': 'application/json', 'X-Console': '1', 'Sec-Fetch-Site': 'same-origin' }

export type Answer = Seen & {
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape; the server validates them against the description
  body: any
}

/** Calls of the pages in the browser of a visitor. Every error has the shape of the description. */
export function consoleOf(url: string, { cookies }: Pick<Visitor, 'cookies'>) {
  return async (method: string, path: string, sent?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const always = method === 'GET' ? { 'Sec-Fetch-Site': 'same-origin' } : OF_CONSOLE
    const given = Object.entries({ ...always, ...(cookie && { Cookie: cookie }), ...headers }).filter(([, value]) => value !== '')
    const answer = await fetch(`${url}/console/api${path}`, {
      method,
      headers: Object.fromEntries(given),
      ...(sent !== undefined && { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
      redirect: 'manual',
    })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    const body = isJson && text !== '' ? JSON.parse(text) : undefined
    if (answer.status >= 400 && !validateError(body)) throw new Error(`no error as described: ${text}`)
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body,
      location: answer.headers.get('location'),
      setCookies: answer.headers.getSetCookie(),
    }
  }
}
