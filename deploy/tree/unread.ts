import { posix } from 'node:path'

/** What is for compilers, debuggers and readers. Node runs no TypeScript below node_modules, so `.ts` is among it. */
const KINDS = /\.([cm]?tsx?|map|md|markdown|h|hpp|c|cc|cpp|a|o|gypi?|tsbuildinfo|flow)$/i
/** Folders at the top of a package, or of what it builds, with its tests, samples and manuals. */
const FOLDERS = new Set(['test', 'tests', '__tests__', 'benchmark', 'benchmarks', 'example', 'examples', 'coverage', 'man', '.github'])
/** Builds for pages that load a script by its address. */
const FOR_PAGES = /(^|\/)(umd|iife|amd|cjs-browser|build\/global)\/|[.-]min\.js$/
/** Conditions of `exports` by which Node never chooses. */
const OTHER_RUNTIMES = /^(types|typings|browser|deno|bun|worker|workerd|edge-light|react-native|module|esnext|es2015|development|source)/

export type Manifest = { name?: string; main?: unknown; exports?: unknown; imports?: unknown } & Record<string, unknown>

/** Whether Node reads the file, by its path in its package. Licences stay. */
export const isRead = (path: string): boolean =>
  /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i.test(path) ||
  !(KINDS.test(path) || FOR_PAGES.test(path) || FOLDERS.has(path.replace(/^dist\//, '').split('/')[0]!))

/** Files that `exports` names, by whether Node may choose them. */
function targetsIn(exported: unknown, isOurs = true): { ours: string[]; others: string[] } {
  if (typeof exported === 'string') return isOurs ? { ours: [exported], others: [] } : { ours: [], others: [exported] }
  if (exported === null || typeof exported !== 'object') return { ours: [], others: [] }
  const found = Object.entries(exported).map(([condition, target]) => targetsIn(target, isOurs && !OTHER_RUNTIMES.test(condition)))
  return { ours: found.flatMap(({ ours }) => ours), others: found.flatMap(({ others }) => others) }
}

const folderOf = (file: string): string => posix.dirname(posix.normalize(file))
const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/**
 * Folders of a package with a second build of it that Node never loads: for bundlers (`module`, `esnext`), for browsers. A folder that also
 * leads to a file for Node is none of them.
 */
export function otherBuilds(manifest: Manifest): string[] {
  const { ours, others } = targetsIn(manifest.exports)
  if ([...ours, ...others].some(target => target.includes('*'))) return []
  const entries = [
    ...ours,
    ...targetsIn(manifest.imports).ours,
    typeof manifest.main === 'string' ? manifest.main : (ours[0] ?? './index.js'),
  ]
  const named = ['module', 'esnext', 'es2015', 'jsnext:main', 'browser'].flatMap(field =>
    typeof manifest[field] === 'string' ? [manifest[field] as string] : [],
  )
  const used = entries.map(entry => posix.normalize(entry))
  const folders = new Set([...others, ...named].map(folderOf).filter(folder => folder !== '.' && !folder.startsWith('..')))
  return [...folders].filter(folder => !used.some(file => isWithin(file, folder) || isWithin(folder, file))).sort()
}
